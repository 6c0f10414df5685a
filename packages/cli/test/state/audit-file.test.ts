import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AuditEntry } from '@toolscript/core';
import { describe, expect, it } from 'vitest';
import { AuditFile } from '#cli/state/audit-file.js';
import { temporaryFolder } from '../support/program.js';

const ENTRY = { type: 'call_started' } as unknown as AuditEntry;

describe.skipIf(process.platform === 'win32')('the audit log (skipped on Windows, which opens links)', () => {
  it('is never written through a link, whether its target exists or not', () => {
    const folder = temporaryFolder();
    const target = join(folder, 'target');
    const path = join(folder, 'audit.jsonl');
    symlinkSync(target, path);
    expect(() => new AuditFile(path).append(ENTRY)).toThrow('ELOOP');
    expect(existsSync(target)).toBe(false);
    writeFileSync(target, 'mine');
    expect(() => new AuditFile(path).append(ENTRY)).toThrow('ELOOP');
    expect(readFileSync(target, 'utf8')).toBe('mine');
  });

  it('is never a device, which would lose its entries', () => {
    expect(() => new AuditFile('/dev/null').append(ENTRY)).toThrow('is no regular file');
  });

  it('is appended to, for the user alone', () => {
    const path = join(temporaryFolder(), 'kept', 'audit.jsonl');
    for (let count = 0; count < 2; count++) {
      const file = new AuditFile(path);
      file.append(ENTRY);
      file.close();
    }
    expect(readFileSync(path, 'utf8')).toBe(`${JSON.stringify(ENTRY)}\n`.repeat(2));
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });
});

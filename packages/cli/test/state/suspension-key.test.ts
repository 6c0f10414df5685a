import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { obtainSuspensionKey, readSuspensionKey } from '#cli/state/suspension-key.js';
import { temporaryFolder } from '../support/program.js';

describe.skipIf(process.platform === 'win32')('the key that seals suspensions (skipped on Windows)', () => {
  it('is never read through a link', () => {
    const folder = temporaryFolder();
    const target = join(folder, 'target');
    writeFileSync(target, 'k'.repeat(32), { mode: 0o600 });
    const path = join(folder, 'suspension.key');
    symlinkSync(target, path);
    expect(() => readSuspensionKey(path)).toThrow('is a link');
    expect(() => obtainSuspensionKey(path)).toThrow('is a link');
  });

  it('is never used where others can read it, or where it is too short', () => {
    const folder = temporaryFolder();
    const shared = join(folder, 'shared');
    writeFileSync(shared, 'k'.repeat(32), { mode: 0o644 });
    expect(() => readSuspensionKey(shared)).toThrow('can be opened by others');
    const short = join(folder, 'short');
    writeFileSync(short, 'k'.repeat(31), { mode: 0o600 });
    expect(() => readSuspensionKey(short)).toThrow('has 31 bytes and needs 32');
  });
});

import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { obtainKeyFile, readKeyFile } from '@toolscript/core/internal';
import { describe, expect, it } from 'vitest';
import { newFolder } from '@toolscript/testkit/folder';

describe.skipIf(process.platform === 'win32')('a key in a file (skipped on Windows)', () => {
  it('is never read through a link', () => {
    const folder = newFolder();
    const target = join(folder, 'target');
    writeFileSync(target, 'k'.repeat(32), { mode: 0o600 });
    const path = join(folder, 'suspension.key');
    symlinkSync(target, path);
    expect(() => readKeyFile(path)).toThrow('is a link');
    expect(() => obtainKeyFile(path)).toThrow('is a link');
  });

  it('is never used if others can read it, or if it is too short', () => {
    const folder = newFolder();
    const shared = join(folder, 'shared');
    writeFileSync(shared, 'k'.repeat(32), { mode: 0o644 });
    expect(() => readKeyFile(shared)).toThrow('is accessible to other users');
    const short = join(folder, 'short');
    writeFileSync(short, 'k'.repeat(31), { mode: 0o600 });
    expect(() => readKeyFile(short)).toThrow('has 31 bytes, and a key has at least 32');
  });
});

import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { obtainServerToken } from '#cli/serve/server-token.js';
import { newFolder } from '@toolscript/testkit/folder';

describe("the token of the user's own server", () => {
  it('is created once, readable only by the user, and TOOLSCRIPT_TOKEN takes precedence', () => {
    const path = join(newFolder(), 'data', 'server.token');
    const named = 'a-token-of-the-environment';
    expect(obtainServerToken(path, { TOOLSCRIPT_TOKEN: named })).toBe(named);
    expect(existsSync(path)).toBe(false);
    const token = obtainServerToken(path, {});
    expect(token).toMatch(/^[\w-]{32}$/u);
    expect(obtainServerToken(path, {})).toBe(token);
    expect(readFileSync(path, 'utf8')).toBe(`${token}\n`);
    if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it.skipIf(process.platform === 'win32')('is not read from a file that other users can read', () => {
    const path = join(newFolder(), 'server.token');
    writeFileSync(path, 'a-token-that-others-know', { mode: 0o600 });
    chmodSync(path, 0o640);
    expect(() => obtainServerToken(path, {})).toThrow(
      'is readable by other users. Remove it: the server then creates a new token.',
    );
  });

  it.skipIf(process.platform === 'win32')('is not read through a link', () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'elsewhere'), 'a-token-of-somebody-else', { mode: 0o600 });
    symlinkSync(join(folder, 'elsewhere'), join(folder, 'server.token'));
    expect(() => obtainServerToken(join(folder, 'server.token'), {})).toThrow('cannot be read (ELOOP)');
  });

  it.each(['short', 'with a blank in its middle', `line\nfeed-${'x'.repeat(20)}`])('is not %j', (token) => {
    const path = join(newFolder(), 'server.token');
    expect(() => obtainServerToken(path, { TOOLSCRIPT_TOKEN: token })).toThrow(
      'TOOLSCRIPT_TOKEN contains no valid token',
    );
  });
});

import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callerOfToken, KeyFolder, makeApiKey } from '#server/access/index.js';

let folder: string;
let keys: KeyFolder;

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'toolscript-keys-')), 'keys');
  keys = new KeyFolder(folder);
});

afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

async function add(more: { expiresAt?: number; principal?: string } = {}) {
  const made = makeApiKey({ name: 'ci', principal: 'ada', scopes: ['run', 'read', 'run'], ...more });
  await keys.add(made.key);
  return made;
}

describe('an API key', () => {
  it('names its caller with the token that was shown, and is stored without it', async () => {
    const { key, token } = await add();
    expect(await callerOfToken(keys, token)).toEqual({
      principal: 'ada',
      scopes: ['read', 'run'],
      keyId: key.keyId,
    });
    const [name] = readdirSync(folder);
    const stored = readFileSync(join(folder, name!), 'utf8');
    expect(stored).not.toContain(token);
    expect(stored).not.toContain(token.slice(-43));
    expect(statSync(join(folder, name!)).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it('is valid only with its complete secret', async () => {
    const { token } = await add();
    const other = await add({ principal: 'bob' });
    const [, id] = token.split('_');
    const foreign = other.token.replace(/^tsk_[0-9a-f]+/u, `tsk_${id}`);
    for (const wrong of [
      foreign,
      `${token}A`,
      token.slice(0, -1),
      token.toUpperCase(),
      `tsk_${'0'.repeat(16)}${token.slice(20)}`,
      '',
    ])
      expect(await callerOfToken(keys, wrong), wrong).toBeUndefined();
  });

  it('stops when it expires', async () => {
    const { token } = await add({ expiresAt: 1_000 });
    expect(await callerOfToken(keys, token, 999)).toBeDefined();
    expect(await callerOfToken(keys, token, 1_000)).toBeUndefined();
  });

  it('stops when another process deletes it', async () => {
    const { key, token } = await add();
    expect(await callerOfToken(keys, token)).toBeDefined();
    expect(await new KeyFolder(folder).delete(key.keyId)).toBe(true);
    expect(await callerOfToken(keys, token)).toBeUndefined();
    expect(await keys.delete(key.keyId)).toBe(false);
  });

  it.each([
    [{ principal: '' }],
    [{ principal: 'a b' }],
    [{ name: 'a\nb' }],
    [{ scopes: [] }],
    [{ scopes: ['root'] }],
    [{ expiresAt: Number.NaN }],
  ])('cannot be created from %j', (wrong) => {
    const draft = { name: 'ci', principal: 'ada', scopes: ['read'], ...wrong };
    expect(() => makeApiKey(draft as never)).toThrow(/^key\./u);
  });
});

describe('the folder of keys', () => {
  it('lists them oldest first, and is empty before it exists', async () => {
    expect(await keys.list()).toEqual([]);
    const made = [
      makeApiKey({ name: 'b', principal: 'x', scopes: ['read'] }, 1),
      makeApiKey({ name: 'a', principal: 'x', scopes: ['read'] }, 2),
    ];
    for (const { key } of made.toReversed()) await keys.add(key);
    expect((await keys.list()).map(({ name }) => name)).toEqual(['b', 'a']);
  });

  it('ignores a file that is damaged, or has the name of another key', async () => {
    const { key, token } = await add();
    const other = makeApiKey({ name: 'b', principal: 'root', scopes: ['admin'] });
    writeFileSync(join(folder, `${key.keyId}.json`), JSON.stringify({ ...other.key, sha256: key.sha256 }), {
      mode: 0o600,
    });
    expect(await callerOfToken(keys, token)).toBeUndefined();
    writeFileSync(join(folder, `${key.keyId}.json`), '{');
    expect(await callerOfToken(keys, token)).toBeUndefined();
    expect(await keys.list()).toEqual([]);
  });

  it.skipIf(process.platform === 'win32')('ignores a file that others can read or write', async () => {
    const { key, token } = await add();
    chmodSync(join(folder, `${key.keyId}.json`), 0o620);
    expect(await callerOfToken(keys, token)).toBeUndefined();
  });

  it.skipIf(process.platform === 'win32')('does not follow a link', async () => {
    const { key, token } = await add();
    const elsewhere = join(folder, '..', 'elsewhere.json');
    renameSync(join(folder, `${key.keyId}.json`), elsewhere);
    symlinkSync(elsewhere, join(folder, `${key.keyId}.json`));
    expect(await callerOfToken(keys, token)).toBeUndefined();
  });

  it('accesses no other file by an id', async () => {
    writeFileSync(join(folder, '..', 'x.json'), '{}', { mode: 0o600 });
    expect(await keys.get('../x')).toBeUndefined();
    expect(await keys.delete('../x')).toBe(false);
  });
});

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { callerOfToken, joinKeys, KeyFolder, makeApiKey, type ApiKeyDraft } from '#server/access/index.js';
import { openDatabase } from '@toolscript/service/stores';
import {
  administrator,
  describeWithPostgres,
  newSchemaUrl,
  schemaOf,
} from '../../../service/test/stores/postgres/support/test-postgres.js';

const DRAFT: ApiKeyDraft = { name: 'ci', principal: 'ada', scopes: ['read', 'run'] };

async function opened(url: string) {
  const database = await openDatabase(url);
  onTestFinished(() => database.close());
  return database.keys!;
}

describeWithPostgres('the keys of a database', () => {
  it('are valid for all servers, and none of them after one was deleted', async () => {
    const url = await newSchemaUrl();
    const [one, other] = [await opened(url), await opened(url)];
    const { key, token } = makeApiKey(DRAFT);
    await one.add(key);
    expect(await callerOfToken(other, token)).toEqual({ principal: 'ada', scopes: ['read', 'run'], keyId: key.keyId });
    expect(await callerOfToken(other, `${token.slice(0, -2)}xx`)).toBeUndefined();
    expect(await other.list()).toEqual([key]);
    expect(await other.delete(key.keyId)).toBe(true);
    expect(await one.delete(key.keyId)).toBe(false);
    expect(await callerOfToken(one, token)).toBeUndefined();
  });

  it('are listed oldest first, and are never replaced by another key with their id', async () => {
    const keys = await opened(await newSchemaUrl());
    const made = [makeApiKey(DRAFT, 1).key, makeApiKey({ ...DRAFT, name: 'b' }, 2).key];
    for (const key of made.toReversed()) await keys.add(key);
    await keys.add({ ...made[0]!, principal: 'root' });
    expect(await keys.list()).toEqual(made);
    for (const keyId of ["'", '\0', 'key_', ''])
      expect([await keys.get(keyId), await keys.delete(keyId)]).toEqual([undefined, false]);
  });

  it('are invalid if their row is damaged, or is that of another key', async () => {
    const url = await newSchemaUrl();
    const keys = await opened(url);
    const [one, other] = [makeApiKey(DRAFT), makeApiKey({ ...DRAFT, scopes: ['admin'] })];
    await keys.add(one.key);
    for (const text of [JSON.stringify({ ...other.key, sha256: one.key.sha256 }), '{', 'null']) {
      await administrator.query(`UPDATE ${schemaOf(url)}.api_keys SET key = $1`, [text]);
      expect(await callerOfToken(keys, one.token), text).toBeUndefined();
    }
    expect(await keys.list()).toEqual([]);
  });

  it('are valid beside those of a folder, and new ones are added to the database', async () => {
    const database = await opened(await newSchemaUrl());
    const folder = new KeyFolder(mkdtempSync(join(tmpdir(), 'toolscript-keys-')));
    const [ours, theirs] = [makeApiKey(DRAFT, 1), makeApiKey({ ...DRAFT, name: 'new' }, 2)];
    await folder.add(ours.key);
    const keys = joinKeys([database, folder]);
    await keys.add(theirs.key);
    expect(await keys.list()).toEqual([ours.key, theirs.key]);
    expect(await database.list()).toEqual([theirs.key]);
    for (const { token, key } of [ours, theirs]) {
      expect(await callerOfToken(keys, token)).toMatchObject({ keyId: key.keyId });
      expect(await keys.delete(key.keyId)).toBe(true);
      expect(await callerOfToken(keys, token)).toBeUndefined();
    }
  });
});

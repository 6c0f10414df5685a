import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { fileStore, listScripts } from '@toolscript/core';
import { filePlace } from '@toolscript/core/internal';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openStores } from '@toolscript/service/stores';
import { describeWithPostgres, newSchemaUrl } from '../../../service/test/stores/postgres/support/test-postgres.js';
import { newFolder } from '@toolscript/testkit/folder';

const PROGRAM = fileURLToPath(new URL('support/saving-process.mjs', import.meta.url));
const run = promisify(execFile);

async function open(url: string) {
  const stores = await openStores(url);
  onTestFinished(() => stores.close());
  const folder = newFolder();
  const { threadId } = await stores.threads.create({ principal: 'ada' });
  const start = (mode: string, name: string) => run(process.execPath, [PROGRAM, url, folder, threadId, mode, name]);
  return { ...stores, folder, threadId, start };
}

function savedFiles(newUrl: () => Promise<string>): void {
  it('that two processes save at once lose no version', async () => {
    const { documents, threadId, start } = await open(await newUrl());
    const outputs = await Promise.all([start('save', 'a'), start('save', 'a')]);
    const texts = outputs.flatMap(({ stdout }) => JSON.parse(stdout) as string[]);
    const place = filePlace(threadId, 'a');
    const versions = await documents.versions(place);
    expect(versions.map(({ version }) => version)).toEqual(Array.from({ length: 16 }, (_, index) => 16 - index));
    const stored = await Promise.all(versions.map(({ version }) => documents.read(place, version)));
    expect(new Set(stored.map((one) => one?.text))).toEqual(new Set(texts));
  });

  it.each([
    ["saveToFC({ name: 'a', text: 'one' })", 'file', 'a'],
    ["saveToFC({ text: 'one' })", 'file', undefined],
    ["store.set({ key: 'a', value: 'one' })", 'value', 'a'],
  ] as const)(
    'have one version after a process died between the effect of %s and its journal',
    async (call, kind, name) => {
      const { documents, folder, threadId, start } = await open(await newUrl());
      await expect(start('script', call)).rejects.toMatchObject({ signal: 'SIGKILL' });
      const { scope } = filePlace(threadId, 'a');
      const [saved] = (await documents.list({ scope, kind })).documents;
      const [script] = await listScripts(fileStore(join(folder, 'scripts')));
      const { stdout } = await start('recover', script!.scriptId);
      expect(JSON.parse(stdout)).toMatchObject({ status: 'completed', value: { version: 1 } });
      expect((await documents.list({ scope, kind })).documents).toEqual([saved]);
      expect(saved).toMatchObject({ version: 1, ...(name === undefined ? {} : { name }) });
    },
  );
}

describe('files in a file', () => savedFiles(async () => `libsql:${newFolder()}/toolscript.db`));
describeWithPostgres('files in PostgreSQL', () => savedFiles(newSchemaUrl));

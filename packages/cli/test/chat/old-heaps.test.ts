import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { memoryStores } from '@toolscript/service/stores';
import { newFolder } from '@toolscript/testkit/folder';
import { openState, pruneDaily } from '#cli/state/persistent-state.js';
import { ThreadDatabase } from '#cli/threads/thread-database.js';

const DAY_MS = 86_400_000;

it('a conversation deletes once a day the old heaps that no item names, and never the newest one', async () => {
  const kept = openState({ XDG_DATA_HOME: newFolder() });
  const database = { stores: memoryStores({ now: () => Date.now() - 40 * DAY_MS }) };
  const { threadId } = await database.stores.threads.create({ principal: 'local' });
  const heaps = kept.store.heaps!;
  const heap = { principal: '', head: '{}', state: new Uint8Array(1) };
  await heaps.add({ ...heap, heapId: 'heap_1', threadId });
  await heaps.add({ ...heap, heapId: 'heap_2', threadId, parentId: 'heap_1' });
  await heaps.add({ ...heap, heapId: 'heap_free' });
  await heaps.add({ ...heap, heapId: 'heap_other', threadId: 'thr_other' });
  const left = async () => {
    const ids = ['heap_1', 'heap_2', 'heap_free', 'heap_other'];
    const found = await Promise.all(ids.map((id) => heaps.read('', id)));
    return ids.filter((_, index) => found[index]!.length > 0);
  };
  await pruneDaily(kept, database);
  makeOld(kept.folder.scriptsFolder);
  await pruneDaily(kept, database);
  expect(await left()).toEqual(['heap_1', 'heap_2', 'heap_free', 'heap_other']);
  rmSync(join(kept.folder.path, 'pruned'));
  await pruneDaily(kept, database);
  expect(await left()).toEqual(['heap_2', 'heap_other']);
});

it('a script deletes them without an open conversation', async () => {
  const environment = { XDG_DATA_HOME: newFolder() };
  const kept = openState(environment);
  await (await ThreadDatabase.open(environment)).close();
  const heap = { heapId: 'heap_free', principal: '', head: '{}', state: new Uint8Array(1) };
  await kept.store.heaps!.add(heap);
  await kept.store.heaps!.add({ ...heap, heapId: 'heap_killed', threadId: 'mcp_killed' });
  makeOld(kept.folder.scriptsFolder);
  await kept.store.heaps!.add({ ...heap, heapId: 'heap_used', threadId: 'mcp_used' });
  await pruneDaily(kept);
  const left = async (heapId: string) => (await kept.store.heaps!.read('', heapId)).length;
  expect(await Promise.all(['heap_free', 'heap_killed', 'heap_used'].map(left))).toEqual([0, 0, 1]);
});

/** Dates every heap 40 days back. A store may be about to remove its locks, so only folders of heaps are read. */
function makeOld(scriptsFolder: string): void {
  const heaps = join(scriptsFolder, 'heaps');
  const folders = readdirSync(heaps).filter((name) => !name.endsWith('.lock'));
  for (const states of folders.map((name) => join(heaps, name, 'states')))
    for (const name of readdirSync(states)) {
      const file = join(states, name);
      const text = readFileSync(file, 'latin1');
      writeFileSync(file, text.replace(/"createdAt":\d+/u, `"createdAt":${Date.now() - 40 * DAY_MS}`), 'latin1');
    }
}

import { EventEnvelopes } from '@toolscript/core/ports';
import type { EventPayload, OutputItem, ServiceStores } from '@toolscript/core/protocol';
import { expect, it, onTestFinished, vi } from 'vitest';
import { DatabaseThread } from '#service/stores/database-thread.js';
import { openStores } from '#service/stores/index.js';
import { newFolder } from '@toolscript/testkit/folder';

const LENGTH = 20_000;
const PARSE = JSON.parse;

const message = (id: string, role: 'user' | 'assistant' = 'user') =>
  ({ type: 'message', id, role, content: 'x'.repeat(LENGTH) }) as OutputItem;

async function openWithRun(input: OutputItem[]) {
  const path = `${newFolder()}/service.db`;
  const stores = await openStores(`libsql:${path}`);
  onTestFinished(() => stores.close());
  const { run } = await stores.runs.create({
    principal: 'ada',
    thread: { create: {} },
    input,
  });
  return { path, stores, run };
}

/** A run that has ended with an answer of 100 items. */
async function openWithAnswer() {
  const input = [message('i_input')];
  const opened = await openWithRun(input);
  const { stores, run } = opened;
  const { epoch } = (await stores.runs.claim({
    owner: 'test',
    leaseMs: 60_000,
    runId: run.runId,
  }))!.run;
  const answer = Array.from({ length: 100 }, (_, index) => message(`i_${index}`, 'assistant'));
  const payloads: EventPayload[] = [
    { type: 'response_start', input },
    ...answer.map((item): EventPayload => ({
      type: 'item_done',
      item_id: item.id,
      final_item: item,
    })),
    { type: 'response_done', status: 'completed' },
  ];
  const envelopes = new EventEnvelopes(run, 0);
  await stores.threads.append(
    payloads.map((payload) => envelopes.next(payload)),
    { epoch },
  );
  await stores.runs.finish({ runId: run.runId, epoch }, { state: 'completed' });
  return { ...opened, items: [...input, ...answer] };
}

/** Reads the turns. `longest`: the longest texts that were parsed in one turn of the event loop. */
async function readTurns({ threads }: ServiceStores, threadId: string) {
  const parse = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parse.mockRestore());
  const turns = [0];
  parse.mockImplementation((text) => {
    turns[turns.length - 1]! += text.length;
    return PARSE(text);
  });
  let isOver = false;
  const count = () => {
    if (isOver) return;
    turns.push(0);
    setImmediate(count);
  };
  count();
  const pages = await Promise.all([1, 2, 3].map(() => threads.readItems(threadId)));
  isOver = true;
  return { pages, longest: Math.max(...turns) };
}

it('a turn with many items is parsed in slices, and others get a turn between them', async () => {
  const input = Array.from({ length: 100 }, (_, index) => message(`i_${index}`));
  const { stores, run } = await openWithRun(input);
  const { pages, longest } = await readTurns(stores, run.threadId);
  for (const { turns } of pages) expect(turns[0]!.items).toEqual(input);
  expect(longest).toBeLessThan(3 * (65_536 + 2 * LENGTH));
});

it('a large turn is folded in slices, from pages of its events', async () => {
  const { path, stores, run, items } = await openWithAnswer();
  const database = await DatabaseThread.open(path);
  onTestFinished(() => database.close());
  const { turns } = await database.call('threads', 'readItems', run.threadId, 0, 50);
  expect(JSON.stringify(turns).length).toBeLessThan(1_500_000);
  for (const _time of ['first', 'again']) {
    const { pages, longest } = await readTurns(stores, run.threadId);
    for (const page of pages) expect(page.turns[0]!.items).toEqual(items);
    expect(longest).toBeLessThan(3 * (65_536 + 2 * LENGTH));
  }
});

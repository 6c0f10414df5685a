import { expect, it, onTestFinished, vi } from 'vitest';
import { openStores } from '#service/stores/index.js';
import { newFolder } from '@toolscript/testkit/folder';

const LENGTH = 20_000;
const PARSE = JSON.parse;

it('a turn with many items is parsed in slices, and others get a turn between them', async () => {
  const stores = await openStores(`libsql:${newFolder()}/service.db`);
  onTestFinished(() => stores.close());
  const message = (id: string) => ({
    type: 'message' as const,
    id,
    role: 'user' as const,
    content: 'x'.repeat(LENGTH),
  });
  const input = Array.from({ length: 100 }, (_, index) => message(`i_${index}`));
  const { run } = await stores.runs.create({ principal: 'ada', thread: { create: {} }, input });
  const parse = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parse.mockRestore());
  /** The lengths of the texts that were parsed in each turn of the event loop. */
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
  const page = await stores.threads.readItems(run.threadId);
  isOver = true;
  expect(page.turns[0]!.items).toEqual(input);
  expect(Math.max(...turns)).toBeLessThan(65_536 + 2 * LENGTH);
});

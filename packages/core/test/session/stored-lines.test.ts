import { expect, it } from 'vitest';
import { memoryStore } from '#core/index.js';
import { open } from '../suspension/world.js';

it('a call that ends while its script waits for it is stored once, with its delivery', async () => {
  const store = memoryStore();
  const { scriptId } = await open({ store }).runScript('await tools.mark({ text: "a" }); throw new Error("no")');
  const lines = (await store.journal.read(scriptId))!.lines.map((line) => (JSON.parse(line) as { t: string }).t);
  expect(lines).toEqual(['started', 'intent', 'delivered', 'ended']);
});

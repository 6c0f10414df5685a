import { expect, test } from 'vitest';
import { defineTool } from '#core/index.js';
import { compactionItem } from '#core/agent/compaction.js';
import { addNeeded } from '#core/agent/needed-items.js';
import type { OutputItem } from '#core/protocol/index.js';
import { APIS, expectClean, openScene, openWorld, play, type World } from './running.js';

/* Tools that the system text does not declare are declared once scripts have called or found them. */

const AGENT = { carrier: 'tool', instructionTokens: 900 } as const;

/** A world with the tools of a server besides, most of which the prompt has no room for. */
function openWide(count = 120): World {
  const world = openWorld();
  const page = (index: number) =>
    defineTool({
      name: `wiki.read-page-${index}`,
      description: `Reads page ${index}, which is about ${index === 77 ? 'refunds' : 'trees'}.`,
      effect: 'read',
      inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      execute: ({ id }: { id: string }) => ({ page: id, index }),
    } as never);
  world.harness.tools.add(Array.from({ length: count }, (_, index) => page(index)));
  return world;
}

const script = (code: string) => ({ parts: [{ type: 'script' as const, code }] });
const SAID = { parts: [{ type: 'text' as const, text: 'Done.' }] };

const declaring = (items: readonly OutputItem[]) =>
  items.flatMap((item) => (item.type === 'message' && item.declares !== undefined ? [item] : []));

test.each(APIS)(
  '%s: a called tool is declared once, after the results, and the beginning stays the same',
  async (api) => {
    const world = openWide();
    const call = script("return await tools.wiki.read_page_93({ id: 'a' })");
    const scene = await openScene(api, [
      call,
      call,
      script('return await tools.add({ a: 1, b: 2 })'),
      SAID,
      call,
      SAID,
    ]);
    const first = await play(world, scene, AGENT, { threadId: 'thr_1' });
    const { history } = await play(world, scene, AGENT, { threadId: 'thr_1', history: first.history, input: 'Again' });
    // The strict server compares the beginning of each request with the one before.
    expectClean(scene);
    const [message, ...others] = declaring(history);
    expect(others).toEqual([]);
    expect(message).toMatchObject({ role: 'system', declares: ['wiki.read_page_93'] });
    // The declaration knows the result of the call that it follows.
    expect(message?.content).toContain('(args: { id: string }): Promise<{ index: number; page: string }>;');
    const at = history.indexOf(message as OutputItem);
    expect(history[at - 1]?.type).toBe('script_execution_output');
  },
);

test('a tool that the system text declares is not declared again', async () => {
  const world = openWide(2);
  const scene = await openScene('openai-chat', [script("return await tools.wiki.read_page_1({ id: 'a' })"), SAID]);
  const { history } = await play(world, scene, { carrier: 'tool' });
  expect(declaring(history)).toEqual([]);
});

test('found tools are declared, unless the script called one of them', async () => {
  const find = "(await catalog.search('refunds', { limit: 1 }))[0]";
  for (const [code, names] of [
    [`return ${find}.name`, ['wiki.read_page_77']],
    [`const tool = ${find}; return await tools.wiki[tool.name.split('.')[1]]({ id: 'a' })`, ['wiki.read_page_77']],
    [
      "await catalog.search('trees', { limit: 50 }); return await tools.wiki.read_page_92({ id: 'a' })",
      ['wiki.read_page_92'],
    ],
  ] as const) {
    const scene = await openScene('openai-responses', [script(code), SAID]);
    const { history } = await play(openWide(), scene, AGENT);
    expect(declaring(history).map(({ declares }) => declares)).toEqual([names]);
  }
});

test('all declarations take no more than the budget of the instructions, and outlive a summary', async () => {
  const world = openWide();
  const calls = Array.from({ length: 12 }, (_, at) =>
    script(`for (let i = 0; i < 4; i++) await tools.wiki['read_page_' + (i + ${70 + at * 4})]({ id: 'a' })`),
  );
  const scene = await openScene('openai-responses', [...calls, SAID]);
  const { history } = await play(world, scene, { ...AGENT, maxTurns: 40 });
  const messages = declaring(history);
  expect(messages.length).toBeGreaterThan(1);
  const { length } = messages.map(({ content }) => content).join('');
  expect(length).toBeGreaterThan(900);
  expect(length).toBeLessThan(900 * 4);
  const kept = addNeeded(history, [compactionItem('item_c', 'So far.', history, { size: 1, window: 1_000 })]);
  expect(declaring(kept)).toEqual(messages);
});

test('scripts that do not run declare nothing', async () => {
  const world = openWide();
  const scene = await openScene('openai-responses', [script("await tools.wiki.read_page_93({ id: 'a' })"), SAID]);
  const { history } = await play(world, scene, { ...AGENT, mode: 'dry-run' });
  expect(declaring(history)).toEqual([]);
});

import { describe, expect, it } from 'vitest';
import { unrunCalls, type CallForm } from '#core/agent/unrun-calls.js';
import type { OutputItem } from '#core/protocol/index.js';
import { peerScripts } from '../corpus/peer-scripts.js';
import { PEER_WORLD } from '../corpus/peer-world.js';
import { expectClean, NONCE, openScene, openWorld, play } from './running.js';
import { script } from './ways.js';

const says = (text: string) => ({ parts: [{ type: 'text' as const, text }] });
const ADD = 'return (await tools.add({ a: 1, b: 2 })).sum;';
const CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>';
const advices = (history: readonly OutputItem[]) =>
  history.flatMap((item) => (item.type === 'message' && item.role === 'system' ? [item.content] : []));

describe.each(['text', 'tool'] as const)('an agent whose scripts arrive by %s', (carrier) => {
  it.each([
    ['a mark', `I add.\n${CALL}`],
    ['a list', '[{"name": "add", "arguments": {"a": 1, "b": 2}}]'],
    ['an invoke', '<function_calls>\n<invoke name="add"><parameter name="a">1</parameter></invoke>\n</function_calls>'],
    ['a tag of another spelling', `<Tool-Calls>\n${ADD}\n</Tool-Calls>`],
    ['a tag with an underscore', `<tool_calls>\n${ADD}\n</tool_calls>`],
    ['a fence of calls', `\`\`\`tool-calls\n${ADD}\n\`\`\``],
    ['a fence of TypeScript', `I add:\n\n\`\`\`ts\n${ADD}\n\`\`\`\n`],
    ['a fence of Gemini', '```tool_code\nprint(default_api.add(a=1, b=2))\n```'],
  ])('shows the right form once to a model that writes %s', async (_, said) => {
    const world = openWorld();
    const scene = await openScene('openai-chat', [
      says(said),
      { parts: [script(ADD)], expect: ['Nothing ran'] },
      says('Three.'),
    ]);
    const { history, response } = await play(world, scene, { carrier });
    expect(response.status).toBe('completed');
    expect(world.calls).toEqual(['add {"a":1,"b":2}']);
    const form = carrier === 'text' ? `<tool-calls id="${NONCE}">` : '`run_script`';
    expect(advices(history)).toEqual([expect.stringContaining(form)]);
    expect(advices(history)[0]).toContain('await tools.add({ … })');
    expectClean(scene);
  });

  it('ends as incomplete if the model repeats the call', async () => {
    const world = openWorld();
    const scene = await openScene('openai-chat', [says(CALL), says(CALL)]);
    const { events, history } = await play(world, scene, { carrier });
    expect(events.at(-1)!.payload).toMatchObject({
      status: 'incomplete',
      incomplete_reason: 'unrun_calls',
    });
    expect(advices(history)).toHaveLength(1);
    expect(world.calls).toEqual([]);
    expectClean(scene);
  });

  it('completes if the model only quoted the call', async () => {
    const world = openWorld();
    const scene = await openScene('openai-chat', [says(CALL), says('That was a quote.')]);
    const { response } = await play(world, scene, { carrier });
    expect(response.status).toBe('completed');
    expectClean(scene);
  });

  it.each([
    ['a quote', `> ${CALL.replaceAll('\n', '\n> ')}`],
    ['a comment', `<!--\n${CALL}\n-->`],
    ['a fence of XML before other text', `\`\`\`xml\n${CALL}\n\`\`\`\n\nThis is the format.`],
    ['a mark within a line', `The mark \`<tool_call>\` begins a call.`],
    ['JSON of another shape', '{"name": "add", "description": "adds"}'],
    ['a call of no tool', '{"name": "fly", "arguments": {}}'],
    ['a fence of TypeScript without a tool', '```ts\nconst a = tools.length;\n```'],
    ['a list in prose', '[see the docs]\n[1, 2]'],
  ])('completes with %s', async (_, said) => {
    const scene = await openScene('openai-chat', [says(said)]);
    const { response, history } = await play(openWorld(), scene, { carrier });
    expect(response.status).toBe('completed');
    expect(advices(history)).toEqual([]);
    expectClean(scene);
  });
});

const toolNames = PEER_WORLD.flatMap((makeTools) => makeTools()).map(({ name }) => name);
const FORMS: readonly CallForm[] = [{ type: 'block', nonce: '1' }, { type: 'tool' }, { type: 'functions' }];

it('every notation of the corpus is found in an answer, and its arguments are not shown', () => {
  const calls = peerScripts().filter(({ source, expected, script: text }) => {
    const isForeign = !/^(?:const|let|return|\s*\/\/)/u.test(text) && !text.includes('await tools');
    return (
      isForeign &&
      expected.gives !== undefined &&
      /vllm|sglang|cookbook|litellm|issue threads|langchain|claude-code|macprovider|openhuman/u.test(source)
    );
  });
  expect(calls.length).toBeGreaterThan(40);
  const missed = calls.filter(({ script: text }) =>
    FORMS.some((form) => unrunCalls(text, { form, toolNames: () => toolNames, wantsJson: false }) === undefined),
  );
  expect(missed.map(({ name }) => name)).toEqual([]);
  const shown = unrunCalls(CALL, {
    form: FORMS[0]!,
    toolNames: () => toolNames,
    wantsJson: false,
  });
  expect(shown).not.toContain('"a"');
});

it('an answer that must be JSON is not read as a call', () => {
  const text = '{"name": "add", "arguments": {"a": 1, "b": 2}}';
  expect(unrunCalls(text, { form: FORMS[1]!, toolNames: () => toolNames, wantsJson: false })).toContain('run_script');
  expect(unrunCalls(text, { form: FORMS[1]!, toolNames: () => toolNames, wantsJson: true })).toBeUndefined();
});

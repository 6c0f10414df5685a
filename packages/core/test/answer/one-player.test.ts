import { afterAll, describe, expect, it } from 'vitest';
import { extendHistory, runAgent } from '#core/agent/index.js';
import { createHarness, type Harness } from '#core/index.js';
import { foldResponse } from '#core/history/index.js';
import type { EventPayload, ModelProvider, OutputItem, StreamEvent } from '#core/protocol/index.js';
import { sampleTools } from '../harness/sample-tools.js';
import { collect } from '../harness/open-harness.js';
import { NONCE } from '../agent/running.js';

const { tools } = sampleTools();
const harness: Harness = createHarness({ tools });
afterAll(() => harness.close());

/** A provider whose only answer is the text; with `breaks`, the connection is lost after the text. */
function speaking(text: string, breaks: boolean): ModelProvider {
  return {
    api: 'mine',
    model: 'm',
    capabilities: { stopSequences: false, customTools: false },
    async *stream(request): AsyncGenerator<EventPayload> {
      yield { type: 'response_start' };
      const isFirst = request.conversation.every((item) => item.type !== 'script_execution');
      const said = isFirst ? text : 'Seen.';
      yield { type: 'item_start', item_id: `item_${isFirst}`, item_type: 'message' };
      for (const delta of said.match(/[^]{1,7}/gu) ?? [])
        yield { type: 'item_delta', item_id: `item_${isFirst}`, delta };
      if (isFirst && breaks) throw new Error('connection lost');
      const item = { type: 'message', id: `item_${isFirst}`, role: 'assistant', content: said } as const;
      yield { type: 'item_done', item_id: item.id, final_item: item };
      yield { type: 'response_done', status: 'completed' };
    },
  };
}

async function* chunks(text: string, breaks: boolean): AsyncGenerator<string> {
  for (const delta of text.match(/[^]{1,7}/gu) ?? []) yield delta;
  if (breaks) throw new Error('connection lost');
}

type Play = (text: string, options?: { breaks?: boolean }) => Promise<StreamEvent[]>;

const PLAYERS: readonly [string, Play][] = [
  ['processText', (text, { breaks = false } = {}) => collect(harness.processText(chunks(text, breaks)))],
  [
    'an agent',
    (text, { breaks = false } = {}) => {
      const agent = { slug: 'tester', carrier: 'text', afterScript: 'continue' } as const;
      const said = text.replaceAll('<tool-calls>', `<tool-calls id="${NONCE}">`);
      return collect(runAgent({ provider: speaking(said, breaks), harness, agent, nonce: NONCE, input: 'Go.' }));
    },
  ],
];

/** The items of the answer, without names and measurements. An agent records the error as an item and continues. */
function itemsOf(events: readonly StreamEvent[]) {
  const items = foldResponse(events).output_items.filter(
    (item) => item.type !== 'error' && !(item.type === 'message' && (item.role === 'user' || item.content === 'Seen.')),
  );
  return items.map((item: OutputItem) => {
    if (item.type === 'message' || item.type === 'reasoning')
      return { type: item.type, content: item.content, cancelled: item.cancelled, reason: item.cancel_reason };
    if (item.type === 'script_execution') return { type: item.type, source: item.source_code, status: item.status };
    if (item.type === 'script_execution_output')
      return {
        type: item.type,
        status: item.status,
        result: item.result,
        error: item.error?.code,
        report: item.report,
      };
    return { type: item.type };
  });
}

const block = (code: string) => `<tool-calls>\n${code}\n</tool-calls>\n`;

const ANSWERS: readonly [string, string, breaks?: boolean][] = [
  ['text alone', 'Nothing to do.\n'],
  ['reasoning, text and a script', `<think>hm</think>Look.\n${block('return 1;')}Done.\n`],
  ['two scripts', `${block('return 1;')}between\n${block('return 2;')}`],
  ['a script after one that failed', `a\n${block('throw new Error("no");')}b\n${block('return 2;')}c\n`],
  ['a malformed script before a good one', `${block('return `open')}${block('return 2;')}`],
  [
    'a script that is suspended, with text and scripts after it',
    `${block('return await tools.write({ path: "a" });')}then\n${block('return 2;')}end\n`,
  ],
  ['text that is interrupted', 'This is how far it c', true],
  ['a script and text that is interrupted', `${block('return 1;')}and th`, true],
  ['a beginning of a tag that is interrupted', 'Look <tool-ca', true],
  ['a script that is interrupted', 'Look <tool-calls>\nreturn 1', true],
  ['reasoning that is interrupted', '<think>let me se', true],
];

describe('processText and an agent play the same answer alike', () => {
  it.each(ANSWERS)('%s', async (_name, text, breaks = false) => {
    const [first, second] = await Promise.all(PLAYERS.map(([, play]) => play(text, { breaks })));
    expect(itemsOf(second!)).toEqual(itemsOf(first!));
  });
});

describe.each(PLAYERS)('%s', (_name, play) => {
  it('gives a skipped script its output: it never stays pending', async () => {
    const items = itemsOf(await play(`${block('throw new Error("no");')}${block('return 2;')}`));
    const scripts = items.filter(({ type }) => type !== 'message');
    expect(scripts.map(({ type, status, error }) => [type, status, error])).toEqual([
      ['script_execution', 'error', undefined],
      ['script_execution_output', 'failed', 'ScriptRuntimeError'],
      ['script_execution', 'error', undefined],
      ['script_execution_output', 'failed', 'ScriptSkippedError'],
    ]);
  });

  it('keeps the text of an interrupted answer to its last byte, and marks it', async () => {
    const events = await play('Half a sen <tool', { breaks: true });
    expect(itemsOf(events)).toEqual([
      {
        type: 'message',
        content: 'Half a sen <tool',
        cancelled: true,
        reason: 'The answer ended before this item was complete.',
      },
    ]);
    expect(events.map(({ payload }) => payload)).toContainEqual(
      expect.objectContaining({ type: 'response_error', code: 'AnswerInterrupted', message: 'connection lost' }),
    );
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'failed' });
  });

  it('names the suspended script and its approvals in the last event, without sealed memory', async () => {
    const events = await play(block('return await tools.write({ path: "a" });'));
    const asked = events.flatMap(({ payload }) =>
      payload.type === 'approval_requested' ? [payload.approval.approval_id] : [],
    );
    expect(asked).toHaveLength(1);
    expect(events.at(-1)!.payload).toMatchObject({ status: 'suspended', approval_ids: asked });
    expect(events.at(-1)!.payload).not.toHaveProperty('suspension');
  });
});

it('the model reads the interrupted text in the next run', async () => {
  const seen: OutputItem[][] = [];
  const provider = speaking('Half a sen', true);
  const listening: ModelProvider = {
    ...provider,
    stream(request, options) {
      seen.push([...request.conversation]);
      return provider.stream(request, options);
    },
  };
  const agent = { slug: 'tester', carrier: 'text' } as const;
  const first = await collect(runAgent({ provider: listening, harness, agent, input: 'Go.' }));
  const history = extendHistory([], first);
  await collect(runAgent({ provider: listening, harness, agent, history, input: 'And?' }));
  expect(seen[1]!.map((item) => (item.type === 'message' ? item.content : item.type))).toEqual([
    'Go.',
    'Half a sen',
    'And?',
  ]);
});

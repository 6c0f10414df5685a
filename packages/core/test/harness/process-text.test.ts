import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHarness, type Harness } from '#core/index.js';
import { foldResponse } from '#core/history/index.js';
import { StreamEventSchema, type OutputItem, type StreamEvent } from '#core/protocol/index.js';
import { tries } from '@toolscript/testkit/some-cases';
import { collect, openHarness } from './open-harness.js';
import { sampleTools, type SampleTools } from './sample-tools.js';

let sample: SampleTools;
let harness: Harness;

beforeAll(async () => {
  sample = sampleTools();
  harness = createHarness({ tools: sample.tools, approvals: 'auto' });
  await harness.warm();
});

afterAll(() => harness.close());

const ANSWER = [
  '<think>First look, `then` act. <tool-calls>return "never"</tool-calls></think>',
  'I will look.\n\n',
  '<tool-calls>\nconsole.log("looking");\nconst { sum } = await tools.add({ a: 1, b: 2 });\nreturn { message: `sum ${sum}` };\n</tool-calls>\n',
  'Use `<tool-calls>` for scripts — like so:\n```html\n<tool-calls>return "not run"</tool-calls>\n```\n',
  '```ts tool-calls\nreturn await tools.echo({ value: "</tool-calls>" });\n```\n',
  'Done. 🎉\r\n',
].join('');

const types = (events: readonly StreamEvent[]) => events.map(({ payload }) => payload.type);

/** Items without the values that differ from run to run. */
function stable(events: readonly StreamEvent[]) {
  return foldResponse(events).output_items.map((item) => {
    switch (item.type) {
      case 'message':
      case 'reasoning':
        return [item.type, item.content];
      case 'script_execution':
        return [item.type, item.source_code, item.source_sha256, item.language, item.format, item.status, item.plan];
      case 'script_execution_output':
        return [
          item.type,
          item.status,
          item.result,
          item.error?.code,
          item.error?.line,
          item.operations.map(({ tool, status, result }) => [tool, status, result]),
          item.logs.map(({ text }) => text),
        ];
      default:
        return [item.type];
    }
  });
}

function results(events: readonly StreamEvent[]) {
  const outputs = foldResponse(events).output_items.filter((item) => item.type === 'script_execution_output');
  return outputs.map(({ result, error }) => (error === undefined ? result : error.code));
}

const messageText = (items: readonly OutputItem[]) =>
  items.map((item) => (item.type === 'message' ? item.content : '')).join('');

async function* deltas(text: string, size = 1): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

describe('the order of events', () => {
  it('is: message, script, its tools and logs, its output, the next message, and the end', async () => {
    const events = await collect(harness.processText(ANSWER));
    const told = events
      .filter(({ payload }) => payload.type !== 'item_delta')
      .map(({ payload }) =>
        payload.type === 'item_start'
          ? `start ${payload.item_type}`
          : payload.type === 'item_done'
            ? `done ${payload.final_item.type}`
            : payload.type,
      );
    expect(told).toEqual([
      'response_start',
      'start reasoning',
      'done reasoning',
      'start message',
      'done message',
      'start script_execution',
      'done script_execution',
      'script_log',
      'tool_call_start',
      'tool_call_done',
      'start script_execution_output',
      'done script_execution_output',
      'start message',
      'done message',
      'start script_execution',
      'done script_execution',
      'tool_call_start',
      'tool_call_done',
      'start script_execution_output',
      'done script_execution_output',
      'start message',
      'done message',
      'response_done',
    ]);
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
  });

  it('every event is valid, and seq has no gaps', async () => {
    const events = await collect(harness.processText(ANSWER, { runId: 'run_1', threadId: 'thr_1', turnId: 'turn_1' }));
    for (const event of events) expect(StreamEventSchema.safeParse(event).error).toBeUndefined();
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
    expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(events.length);
    expect(
      events.every(
        ({ run_id, thread_id, turn_id }) => run_id === 'run_1' && thread_id === 'thr_1' && turn_id === 'turn_1',
      ),
    ).toBe(true);
  });

  it('every event survives JSON', async () => {
    const events = await collect(
      harness.processText(`${ANSWER}<tool-calls>await tools.fail({ message: "x" })</tool-calls>`),
    );
    for (const event of events) expect(JSON.parse(JSON.stringify(event))).toEqual(event);
  });

  it('listeners of the harness and of the run receive the same events in the same order', async () => {
    const byHarness: StreamEvent[] = [];
    const byRun: StreamEvent[] = [];
    const own = openHarness({ tools: sample.tools, onEvent: (event) => void byHarness.push(event) });
    const events = await collect(own.processText(ANSWER, { onEvent: (event) => void byRun.push(event) }));
    expect(byHarness).toEqual(events);
    expect(byRun).toEqual(events);
  });

  it('a listener that throws changes nothing', async () => {
    const events = await collect(
      harness.processText(ANSWER, {
        onEvent: () => {
          throw new Error('listener');
        },
      }),
    );
    expect(results(events)).toEqual([{ message: 'sum 3' }, '</tool-calls>']);
  });
});

describe('the text of an answer', () => {
  it('keeps every byte outside of its scripts', async () => {
    const { output_items: items } = foldResponse(await collect(harness.processText(ANSWER)));
    const scripts = items.filter((item) => item.type === 'script_execution');
    expect(scripts.map(({ source_code: source, format }) => [source.trim().split('\n')[0], format])).toEqual([
      ['console.log("looking");', 'xml'],
      ['return await tools.echo({ value: "</tool-calls>" });', 'fence'],
    ]);
    const text = messageText(items);
    expect(text).toContain('I will look.\n\n');
    expect(text).toContain(
      'Use `<tool-calls>` for scripts — like so:\n```html\n<tool-calls>return "not run"</tool-calls>\n```\n',
    );
    expect(text.endsWith('Done. 🎉\r\n')).toBe(true);
    expect(items[0]).toMatchObject({ type: 'reasoning' });
  });

  it('is the same in its deltas and in its finished items', async () => {
    const events = await collect(harness.processText(deltas(ANSWER, 3)));
    const spoken = new Map<string, string>();
    for (const { payload } of events) {
      if (payload.type === 'item_delta')
        spoken.set(payload.item_id, (spoken.get(payload.item_id) ?? '') + payload.delta);
      if (
        payload.type === 'item_done' &&
        (payload.final_item.type === 'message' || payload.final_item.type === 'reasoning')
      )
        expect(spoken.get(payload.item_id)).toBe(payload.final_item.content);
    }
    expect(spoken.size).toBe(4);
  });

  it('gives the same items in deltas of any size', async () => {
    const whole = stable(await collect(harness.processText(ANSWER)));
    expect(whole).toHaveLength(8);
    for (const size of [1, 2, 7, 64])
      expect(stable(await collect(harness.processText(deltas(ANSWER, size))))).toEqual(whole);
    expect(stable(await collect(harness.processText([...ANSWER])))).toEqual(whole);
  });

  it('gives the same items however it is split', async () => {
    const whole = stable(await collect(harness.processText(ANSWER)));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: ANSWER.length }), { maxLength: 12 }), async (cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), ANSWER.length];
        const pieces = at.slice(1).map((end, index) => ANSWER.slice(at[index], end));
        expect(stable(await collect(harness.processText(pieces)))).toEqual(whole);
      }),
      { numRuns: 30 },
    );
  });

  it('without a script is one message and runs nothing', async () => {
    const events = await collect(harness.processText('Just talk, 1 < 2 and <b>bold</b>.\n'));
    expect(types(events).filter((type) => type !== 'item_delta')).toEqual([
      'response_start',
      'item_start',
      'item_done',
      'response_done',
    ]);
    expect(foldResponse(events).output_items).toMatchObject([
      { type: 'message', content: 'Just talk, 1 < 2 and <b>bold</b>.\n' },
    ]);
  });
});

describe('several scripts', () => {
  const block = (code: string) => `<tool-calls>\n${code}\n</tool-calls>\n`;

  it('run in order, each after the one before has ended', async () => {
    const events = await collect(
      harness.processText(
        block('return await tools.wait({ ms: 40, value: 1 })') + block('return 2') + block('return 3'),
      ),
    );
    expect(results(events)).toEqual([1, 2, 3]);
    const order = events.flatMap(({ payload }) =>
      payload.type === 'item_done' && payload.final_item.type.startsWith('script') ? [payload.final_item.type] : [],
    );
    expect(order).toEqual(Array.from({ length: 3 }, () => ['script_execution', 'script_execution_output']).flat());
  });

  it('a failure stops the later ones; the text after it is kept', async () => {
    const events = await collect(
      harness.processText(`${block('return 1')}a\n${block('throw new Error("no")')}b\n${block('return 3')}c\n`),
    );
    expect(results(events)).toEqual([1, 'ScriptRuntimeError', 'ScriptSkippedError']);
    expect(messageText(foldResponse(events).output_items)).toContain('b\n');
    expect(messageText(foldResponse(events).output_items)).toContain('c\n');
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'failed' });
  });

  it('with continueOnError a failure stops nothing', async () => {
    const events = await collect(
      harness.processText(block('throw new Error("no")') + block('return (') + block('return 3'), {
        continueOnError: true,
      }),
    );
    expect(results(events)).toEqual(['ScriptRuntimeError', 'ScriptSyntaxError', 3]);
    expect(events.at(-1)!.payload).toMatchObject({ status: 'failed' });
  });

  it('a malformed block stops the later ones, too', async () => {
    const events = await collect(
      harness.processText(
        `<tool-calls>\nreturn 1\n<tool-calls>\nreturn 2\n</tool-calls>\n</tool-calls>\n${block('return 3')}`,
      ),
    );
    expect(results(events)[0]).toBe('ScriptSyntaxError');
    expect(results(events)).not.toContain(3);
  });
});

describe('a block that is not well formed', () => {
  it.each([
    ['unfinished', 'text <tool-calls>\nawait tools.echo({ value: 1 })\n'],
    ['unfinished in a string', '<tool-calls>\nconst s = "never closed\nreturn tools.echo({ value: 1 })'],
    ['an unfinished fence', '```ts tool-calls\nreturn await tools.echo({ value: 1 })\n'],
    ['nested', '<tool-calls>\nawait tools.echo({ value: 1 })\n<tool-calls>\nreturn 2\n</tool-calls>\n</tool-calls>'],
    ['an unfinished opening and a half closing', '<tool-calls>\nreturn await tools.echo({ value: 1 })\n</tool-cal'],
  ])('%s: a ScriptSyntaxError that says what is wrong, and nothing of it runs', async (_, answer) => {
    const before = sample.deeds.length;
    const events = await collect(harness.processText(answer));
    const outputs = foldResponse(events).output_items.filter((item) => item.type === 'script_execution_output');
    expect(outputs.length).toBeGreaterThanOrEqual(1);
    for (const { error, operations } of outputs) {
      expect(error).toMatchObject({ code: 'ScriptSyntaxError', retryable: true });
      expect(error!.message.length).toBeGreaterThan(10);
      expect(operations).toEqual([]);
    }
    expect(sample.deeds).toHaveLength(before);
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'failed' });
  });

  it('a stray quote does not swallow the rest of the answer', async () => {
    const events = await collect(harness.processText("<tool-calls>\nreturn it's\n</tool-calls>\nThe rest `stays`.\n"));
    expect(messageText(foldResponse(events).output_items)).toContain('The rest `stays`.\n');
  });
});

describe('modes', () => {
  it('disabled: one fixed warning replaces every block, and nothing runs', async () => {
    const before = sample.deeds.length;
    const answer =
      'a\n<tool-calls>\nawait tools.echo({ value: 1 })\n</tool-calls>\nb\n```js tool-calls\nreturn 2\n```\nc\n<tool-calls>\nunfinished';
    const events = await collect(harness.processText(answer, { mode: 'disabled' }));
    const items = foldResponse(events).output_items;
    expect(items.every(({ type }) => type === 'message')).toBe(true);
    const text = messageText(items);
    const warning = (items[1] as { content: string }).content;
    expect(text.split(warning)).toHaveLength(4);
    expect(text.replaceAll(warning, '|').replaceAll('\n', '')).toBe('a|b|c|');
    expect(sample.deeds).toHaveLength(before);
    expect(events.at(-1)!.payload).toMatchObject({ status: 'completed' });
  });

  it('dry-run: every block is checked and none is run', async () => {
    const before = sample.deeds.length;
    const answer =
      '<tool-calls>\nreturn await tools.echo({ value: 1 })\n</tool-calls>\n<tool-calls>\nreturn eval("1")\n</tool-calls>';
    const events = await collect(harness.processText(answer, { mode: 'dry-run' }));
    const [first, , second] = foldResponse(events).output_items.filter(({ type }) =>
      type.startsWith('script'),
    ) as Record<string, unknown>[];
    expect(first).toMatchObject({ type: 'script_execution', plan: [{ tool: 'echo', input: { value: 1 } }] });
    expect(second).toMatchObject({ type: 'script_execution' });
    expect(results(events)).toEqual([null, 'ScriptPolicyError']);
    expect(types(events)).not.toContain('tool_call_start');
    expect(sample.deeds).toHaveLength(before);
  });
});

describe('a source of text', () => {
  it('that waits: the script starts after its closing tag, before the answer ends', async () => {
    const { tools, started } = sampleTools();
    const own = openHarness({ tools });
    let goOn: () => void = () => {};
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    async function* answer() {
      yield 'Look <tool-calls>return await tools.echo({ value: 1 })</tool-calls>';
      await gate;
      yield ' the end';
    }
    const events: StreamEvent[] = [];
    for await (const event of own.processText(answer())) {
      events.push(event);
      // The answer continues only after the script's output: the output must not wait for the end of the answer.
      if (event.payload.type === 'item_done' && event.payload.final_item.type === 'script_execution_output') goOn();
    }
    await started('echo');
    expect(results(events)).toEqual([1]);
    expect(messageText(foldResponse(events).output_items)).toBe('Look  the end');
  });

  it('that throws midway: earlier text and scripts stay, and the run ends as failed', async () => {
    async function* answer() {
      yield 'Hello <tool-calls>return 1</tool-calls> and the';
      yield 'n';
      throw new Error('connection lost');
    }
    const events = await collect(harness.processText(answer()));
    expect(results(events)).toEqual([1]);
    expect(messageText(foldResponse(events).output_items)).toBe('Hello  and then');
    expect(events.map(({ payload }) => payload)).toContainEqual(
      expect.objectContaining({
        type: 'response_error',
        message: expect.stringContaining('connection lost') as unknown,
      }),
    );
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'failed' });
  });

  it('that throws inside a block: nothing of the block runs', async () => {
    const before = sample.deeds.length;
    async function* answer() {
      yield '<tool-calls>await tools.echo({ value: 1 });';
      throw new Error('connection lost');
    }
    const events = await collect(harness.processText(answer()));
    expect(sample.deeds).toHaveLength(before);
    expect(types(events).slice(-2)).toEqual(['response_error', 'response_done']);
  });

  it('that throws at once: a response that failed', async () => {
    async function* answer(): AsyncGenerator<string> {
      throw new Error('no model');
    }
    const events = await collect(harness.processText(answer()));
    expect(types(events)).toEqual(['response_start', 'response_error', 'response_done']);
  });

  it('is stopped when the loop is left early', async () => {
    let returned = false;
    async function* answer() {
      try {
        for (;;) yield 'more text ';
      } finally {
        returned = true;
      }
    }
    for await (const event of harness.processText(answer())) if (event.payload.type === 'item_delta') break;
    expect(returned).toBe(true);
  });

  it('may contain empty chunks', async () => {
    const events = await collect(harness.processText(['', 'a', '', '<tool-calls>return 1', '', '</tool-calls>', '']));
    expect(results(events)).toEqual([1]);
    expect(messageText(foldResponse(events).output_items)).toBe('a');
  });

  it.each([
    ['a number', 42],
    ['nothing', undefined],
    ['null', null],
    ['an object', {}],
  ])('that is %s is the host programmer’s mistake', async (_, text) => {
    await expect((async () => collect(harness.processText(text as never)))()).rejects.toThrow(/text/iu);
  });

  it('with chunks that are not strings ends with an error', async () => {
    const run = async () => collect(harness.processText(['a', 5, null] as never));
    const events = await run().catch((error: unknown) => error);
    if (Array.isArray(events))
      expect((events as StreamEvent[]).at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'failed' });
    else expect(events).toMatchObject({ name: 'ToolscriptUsageError' });
  });
});

describe('a consumer', () => {
  it('that leaves the loop ends the running script and its tools', async () => {
    const { tools, deeds } = sampleTools();
    const own = openHarness({ tools });
    for await (const { payload } of own.processText('<tool-calls>await tools.wait({ ms: 60_000 })</tool-calls>')) {
      if (payload.type === 'tool_call_start') break;
    }
    expect(deeds.map(({ what }) => what)).toEqual(['started', 'aborted']);
    expect(own.stats().sandbox.running).toBe(0);
  });

  it('that leaves the loop ends a script in an endless loop', async () => {
    const own = openHarness({ tools: [], limits: { computeMs: 60_000, timeoutMs: 60_000 } });
    for await (const { payload } of own.processText('<tool-calls>while (true) {}</tool-calls>')) {
      if (payload.type === 'item_done') break;
    }
    expect(own.stats().sandbox.running).toBe(0);
  });

  it('that throws ends the run and sees its own error', async () => {
    const { tools, deeds } = sampleTools();
    const own = openHarness({ tools });
    const consume = async () => {
      for await (const { payload } of own.processText('<tool-calls>await tools.wait({ ms: 60_000 })</tool-calls>')) {
        if (payload.type === 'tool_call_start') throw new Error('consumer');
      }
    };
    await expect(consume()).rejects.toThrow('consumer');
    expect(deeds.at(-1)!.what).toBe('aborted');
  });

  it('that is slow gets every event, in order', async () => {
    const events: StreamEvent[] = [];
    for await (const event of harness.processText(deltas(ANSWER, 40))) {
      events.push(event);
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
    expect(results(events)).toEqual([{ message: 'sum 3' }, '</tool-calls>']);
  });

  it('that never starts the loop starts nothing', async () => {
    const { tools, deeds } = sampleTools();
    const own = openHarness({ tools });
    own.processText('<tool-calls>await tools.echo({ value: 1 })</tool-calls>');
    await own.runScript('await tools.wait({ ms: 20 })');
    expect(deeds.filter(({ tool }) => tool === 'echo')).toEqual([]);
  });
});

describe('a signal', () => {
  it('that is aborted while a script runs ends it, and the response is cancelled', async () => {
    const { tools, deeds } = sampleTools();
    const own = openHarness({ tools });
    const stop = new AbortController();
    const events: StreamEvent[] = [];
    for await (const event of own.processText(
      'a <tool-calls>await tools.wait({ ms: 60_000 })</tool-calls> b <tool-calls>return 2</tool-calls>',
      { signal: stop.signal },
    )) {
      events.push(event);
      if (event.payload.type === 'tool_call_start') stop.abort();
    }
    expect(results(events)).toEqual(['ScriptCancelledError', 'ScriptSkippedError']);
    expect(deeds.at(-1)!.what).toBe('aborted');
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'cancelled' });
  });

  it('that is aborted before runs nothing', async () => {
    const before = sample.deeds.length;
    const events = await collect(
      harness.processText('a <tool-calls>await tools.echo({ value: 1 })</tool-calls>', { signal: AbortSignal.abort() }),
    );
    expect(sample.deeds).toHaveLength(before);
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'cancelled' });
  });

  it('that is aborted during the wait for text ends the response', async () => {
    const stop = new AbortController();
    async function* answer() {
      yield 'so far';
      await new Promise(() => {});
    }
    const events: StreamEvent[] = [];
    for await (const event of harness.processText(answer(), { signal: stop.signal })) {
      events.push(event);
      if (event.payload.type === 'item_delta') stop.abort();
    }
    expect(messageText(foldResponse(events).output_items)).toBe('so far');
    expect(events.at(-1)!.payload).toMatchObject({ status: 'cancelled' });
  });
});

describe('bad input gives a clear error or the right result', () => {
  it('nothing at all', async () => {
    expect(types(await collect(harness.processText('')))).toEqual(['response_start', 'response_done']);
    expect(types(await collect(harness.processText([])))).toEqual(['response_start', 'response_done']);
  });

  it('an empty block', async () => {
    for (const answer of ['<tool-calls></tool-calls>', '<tool-calls>\n\n</tool-calls>', '```ts tool-calls\n```']) {
      const [result] = results(await collect(harness.processText(answer)));
      expect([null, 'ScriptSyntaxError'], answer).toContain(result);
    }
  });

  it('binary', async () => {
    const binary = String.fromCharCode(...Array.from({ length: 2048 }, (_, index) => (index * 37) % 256));
    const events = await collect(harness.processText(binary));
    expect(messageText(foldResponse(events).output_items)).toBe(binary);
    const inside = await collect(
      harness.processText(`<tool-calls>${'\u0000\u0001\u007f\u0080'.repeat(50)}</tool-calls>ok`),
    );
    expect(results(inside)).toEqual(['ScriptSyntaxError']);
  });

  it('a byte order mark and Windows line ends', async () => {
    const events = await collect(
      harness.processText('\ufeffa\r\n<tool-calls>\r\nconst x = 1;\r\nreturn x +;\r\n</tool-calls>\r\n', {
        continueOnError: true,
      }),
    );
    const output = foldResponse(events).output_items.find((item) => item.type === 'script_execution_output');
    expect(output!.error).toMatchObject({ code: 'ScriptSyntaxError', line: 2 });
    expect(results(await collect(harness.processText('<tool-calls>\r\nreturn "x";\r\n</tool-calls>')))).toEqual(['x']);
  });

  it('lone surrogates, in the text and in a script', async () => {
    const text = 'a \ud800 b \udc00 c';
    const events = await collect(harness.processText(`${text}<tool-calls>return "\ud800".length</tool-calls>`));
    expect(messageText(foldResponse(events).output_items)).toBe(text);
    expect(results(events)).toEqual([1]);
  });

  it('a surrogate pair split over two deltas', async () => {
    const events = await collect(
      harness.processText(['x\ud83c', '\udf89y<tool-calls>return "\ud83c', '\udf89"</tool-calls>']),
    );
    expect(messageText(foldResponse(events).output_items)).toBe('x🎉y');
    expect(results(events)).toEqual(['🎉']);
  });

  it('a closing tag that nothing opened is text', async () => {
    const events = await collect(harness.processText('a </tool-calls> b'));
    expect(types(events)).not.toContain('tool_call_start');
    expect(foldResponse(events).output_items.map(({ type }) => type)[0]).toBe('message');
  });

  it('hundreds of blocks run in order', async () => {
    const count = tries(1000);
    const answer = Array.from(
      { length: count },
      (_, index) => `${index} <tool-calls>return ${index}</tool-calls>\n`,
    ).join('');
    const events = await collect(harness.processText(answer));
    expect(results(events)).toEqual(Array.from({ length: count }, (_, index) => index));
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
  });

  it('ten megabytes of text', async () => {
    const line = 'All work and no play makes `code` and <b>text</b> — and so on.\n';
    const text = line.repeat(Math.ceil(10_000_000 / line.length));
    const events = await collect(harness.processText(`${text}<tool-calls>return 1</tool-calls>`));
    expect(results(events)).toEqual([1]);
    expect(messageText(foldResponse(events).output_items) === text).toBe(true);
  });

  it('ten megabytes in one block are refused as too large', async () => {
    const events = await collect(
      harness.processText(`<tool-calls>\n${'let a = 1;\n'.repeat(1_000_000)}</tool-calls>\nafter\n`),
    );
    expect(results(events)).toEqual(['ScriptTooLargeError']);
    expect(messageText(foldResponse(events).output_items)).toContain('after\n');
  });

  it('any text at all: no exception, valid events, no gap, an end', async () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constantFrom(
        '<tool-calls>',
        '</tool-calls>',
        '<tool-calls>return 1</tool-calls>',
        '```',
        '```ts tool-calls\n',
        '\n',
        '`',
        '"',
        "'",
        '<think>',
        '</think>',
        '<thinking>',
        '/*',
        '${',
        '<tool',
        '-calls>',
        '\ud800',
        '\r',
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
        const events = await collect(harness.processText(pieces, { continueOnError: true }));
        for (const event of events) expect(StreamEventSchema.safeParse(event).error).toBeUndefined();
        expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
        expect(types(events)[0]).toBe('response_start');
        expect(types(events).at(-1)).toBe('response_done');
        expect(types(events)).not.toContain('response_error');
      }),
      { numRuns: tries(60) },
    );
  });
});

it('two answers may be read at the same time', async () => {
  const [first, second] = await Promise.all([
    collect(harness.processText(deltas(ANSWER, 9))),
    collect(harness.processText('<tool-calls>return await tools.wait({ ms: 5, value: "b" })</tool-calls>')),
  ]);
  expect(results(first!)).toEqual([{ message: 'sum 3' }, '</tool-calls>']);
  expect(results(second!)).toEqual(['b']);
  expect(first![0]!.run_id).not.toBe(second![0]!.run_id);
});

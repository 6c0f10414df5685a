import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHarness, type Harness, type ProcessTextOptions } from '#core/index.js';
import { foldResponse, ResponseReducer } from '#core/history/index.js';
import type { OutputItem, StreamEvent } from '#core/protocol/index.js';
import { comparable, expectWholeItems, typed, withoutTyping } from '../history/typed-scripts.js';
import { collect, openHarness } from './open-harness.js';
import { sampleTools, type SampleTools } from './sample-tools.js';
import { tries } from '@toolscript/testkit/some-cases';

let sample: SampleTools;
let harness: Harness;

beforeAll(async () => {
  sample = sampleTools();
  harness = createHarness({ tools: sample.tools });
  await harness.warm();
});

afterAll(() => harness.close());

const block = (code: string) => `<tool-calls>\n${code}\n</tool-calls>\n`;
const scriptsOf = (events: readonly StreamEvent[]) =>
  foldResponse(events).output_items.filter((item) => item.type === 'script_execution');

function tell(answer: string | AsyncIterable<string> | Iterable<string>, options: ProcessTextOptions = {}) {
  return collect(harness.processText(answer, { scriptSourceDeltas: true, ...options }));
}

async function* pieces(text: string, size = 1): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

const brief = (events: readonly StreamEvent[]) =>
  events.map(({ payload }) =>
    payload.type === 'item_start'
      ? `start ${payload.item_type}`
      : payload.type === 'item_done'
        ? `done ${payload.final_item.type}`
        : payload.type,
  );

describe('a script whose source streams', () => {
  it('starts when its block opens, has its source in deltas, and is done under the same name', async () => {
    const events = await tell(pieces(`Look.\n${block('return 1;')}`, 4));
    expect(brief(events).filter((told, index, all) => told !== all[index - 1])).toEqual([
      'response_start',
      'start message',
      'item_delta',
      'done message',
      'start script_execution',
      'item_delta',
      'done script_execution',
      'start script_execution_output',
      'done script_execution_output',
      'start message',
      'item_delta',
      'done message',
      'response_done',
    ]);
    expectWholeItems(events);
    const [script] = scriptsOf(events);
    expect([...typed(events)]).toEqual([[script!.id, 'return 1;\n']]);
    expect(script).toMatchObject({ source_code: 'return 1;\n', status: 'completed' });
  });

  it('is emitted before its closing tag arrives', async () => {
    const gates = [0, 1].map(() => {
      let open: () => void = () => {};
      return { opened: new Promise<void>((resolve) => (open = resolve)), open: () => open() };
    });
    async function* answer() {
      yield 'So: ```not yet``` <tool-calls lang="js">\nconst a = 1;';
      await gates[0]!.opened;
      yield '\nreturn a;\n</tool';
      await gates[1]!.opened;
      yield '-calls>';
    }
    const reducer = new ResponseReducer();
    const seen: Partial<OutputItem>[] = [];
    for await (const event of harness.processText(answer(), { scriptSourceDeltas: true })) {
      reducer.apply(event);
      const { payload } = event;
      if (payload.type !== 'item_delta') continue;
      const item = reducer.response().output_items.at(-1)!;
      if (item.type !== 'script_execution') continue;
      seen.push({ source_code: item.source_code, status: item.status, language: item.language, format: item.format });
      gates[seen.length - 1]?.open();
    }
    const shown = { status: 'pending', language: 'js', format: 'xml' };
    expect(seen).toEqual([
      { ...shown, source_code: 'const a = 1;' },
      { ...shown, source_code: 'const a = 1;\nreturn a;\n' },
    ]);
    expect(reducer.response().output_items).toMatchObject([
      { type: 'message' },
      { type: 'script_execution', status: 'completed', source_code: 'const a = 1;\nreturn a;\n' },
      { type: 'script_execution_output', result: 1 },
    ]);
  });

  it('follows the output of an earlier script that is still running', async () => {
    const code = [block('return await tools.wait({ ms: 30, value: 1 });'), 'then\n', block('return 2;')].join('');
    const events = await tell(pieces(code, 3));
    const told = brief(events).filter((what) => what.includes('script_execution'));
    const each = ['start script_execution', 'done script_execution'];
    const output = ['start script_execution_output', 'done script_execution_output'];
    expect(told).toEqual([...each, ...output, ...each, ...output]);
    expectWholeItems(events);
  });

  it('is emitted with its failure if it is malformed', async () => {
    for (const [answer, source] of [
      ['<tool-calls>\nreturn "never closed', 'return "never closed'],
      ['<tool-calls>\nreturn `it\n</tool-calls>\nThe rest.\n', 'return `it\n'],
      ['```ts tool-calls\nreturn (1\n', 'return (1\n'],
    ] as const) {
      const events = await tell(pieces(answer));
      expectWholeItems(events);
      const [script] = scriptsOf(events);
      expect([...typed(events)]).toEqual([[script!.id, source]]);
      expect(script).toMatchObject({ source_code: source, status: 'error' });
      expect(foldResponse(events).output_items).toContainEqual(
        expect.objectContaining({ call_id: script!.call_id, status: 'failed' }),
      );
    }
  });

  it('after a failed one is emitted, and ends as not run', async () => {
    const events = await tell(
      pieces(`${block('return await tools.fail({ message: "no" });')}${block('return 2;')}`, 2),
    );
    expectWholeItems(events);
    expect([...typed(events).values()]).toEqual(['return await tools.fail({ message: "no" });\n', 'return 2;\n']);
    expect(scriptsOf(events).map(({ status }) => status)).toEqual(['error', 'error']);
  });

  it('that never ends is cancelled, and leaves no item', async () => {
    async function* answer() {
      yield 'Look <tool-calls>await tools.echo({';
      throw new Error('connection lost');
    }
    const events = await tell(answer());
    expectWholeItems(events);
    expect(brief(events).slice(-4)).toEqual(['item_delta', 'item_cancelled', 'response_error', 'response_done']);
    expect(foldResponse(events).output_items).toMatchObject([{ type: 'message', content: 'Look ' }]);
  });

  it('is cancelled when the harness is closed meanwhile', async () => {
    const own = openHarness({ tools: [], workers: { size: 1 } });
    async function* answer() {
      yield 'Look <tool-calls>return ';
      await own.close();
      yield '1;</tool-calls>';
    }
    const events = await collect(own.processText(answer(), { scriptSourceDeltas: true }));
    expectWholeItems(events);
    expect(brief(events).slice(-3)).toEqual(['item_cancelled', 'response_error', 'response_done']);
  });

  it('is cancelled when the signal is aborted meanwhile', async () => {
    const stop = new AbortController();
    async function* answer() {
      yield 'Look <tool-calls>\nreturn 1;';
      await new Promise(() => {});
    }
    const events: StreamEvent[] = [];
    for await (const event of harness.processText(answer(), { scriptSourceDeltas: true, signal: stop.signal })) {
      events.push(event);
      if (typed(events).size > 0 && event.payload.type === 'item_delta') stop.abort();
    }
    expectWholeItems(events);
    expect(brief(events).slice(-2)).toEqual(['item_cancelled', 'response_done']);
    expect(events.at(-1)!.payload).toMatchObject({ status: 'cancelled' });
  });

  it('is replaced by the warning if scripts are disabled', async () => {
    const answer = `a\n${block('return 1;')}b\n<tool-calls>\nunfinished`;
    const [plain, told] = await Promise.all(
      [false, true].map((scriptSourceDeltas) => tell(pieces(answer, 2), { mode: 'disabled', scriptSourceDeltas })),
    );
    expect(comparable(told!.map(({ payload }) => payload))).toEqual(comparable(plain!.map(({ payload }) => payload)));
    expect(typed(told!).size).toBe(0);
  });

  it('after one that waits for a user is emitted as a whole when that one has resumed', async () => {
    const own = openHarness({ tools: sampleTools().tools, suspensionKey: 'k'.repeat(32) });
    const answer = `${block('return await tools.write({ path: "a" });')}then\n${block('return 2;')}`;
    const events = await collect(own.processText(pieces(answer, 3), { scriptSourceDeltas: true }));
    expectWholeItems(events);
    expect([...typed(events).values()]).toEqual(['return await tools.write({ path: "a" });\n', '']);
    const { payload } = events.at(-1)!;
    if (payload.type !== 'response_done') throw new Error('the answer has no end');
    const approvals = events.flatMap(({ payload: told }) =>
      told.type === 'approval_requested' ? [told.approval] : [],
    );
    const decisions = Object.fromEntries(approvals.map(({ approval_id: id }) => [id, 'approve' as const]));
    const rest = await collect(own.resumeText(payload.script_id!, decisions));
    expect(rest[0]!.seq).toBe(events.length);
    expectWholeItems([...events, ...rest]);
    expect(scriptsOf([...events, ...rest]).map(({ status, source_code: source }) => [status, source])).toEqual([
      ['completed', 'return await tools.write({ path: "a" });\n'],
      ['completed', 'return 2;\n'],
    ]);
  });
});

describe('any answer', () => {
  const part = fc.constantFrom(
    'Some text, 1 < 2.\n',
    '<think>hm</think>',
    '`<tool-calls>` is a tag\n',
    '</tool-calls>',
    block('return 1;'),
    block('return "</tool-calls>";'),
    block('return `\n</tool-calls>\n`;'),
    block('return await tools.fail({ message: "no" });'),
    block('return await tools.write({ path: "a" });'),
    block('a\n<tool-calls>\nb\n</tool-calls>'),
    '```js tool-calls\n  return [1, 2];\n  ```\n',
    '<tool-calls>\nreturn /*\n</tool-calls>\n',
    '```ts tool-calls\nunfinished',
  );
  const answers = fc.array(part, { maxLength: 5 }).map((parts) => parts.join(''));
  const runs = fc.record({
    mode: fc.constantFrom('enabled' as const, 'enabled' as const, 'dry-run' as const, 'disabled' as const),
    continueOnError: fc.boolean(),
  });

  /** The answer in chunks. The source ends after `length` characters. */
  async function* broken(answer: string, size: number, length: number): AsyncGenerator<string> {
    yield* pieces(answer.slice(0, length), size);
    if (length < answer.length) throw new Error('connection lost');
  }

  it('gets only the starts of scripts in addition when their source streams', async () => {
    let scripts = 0;
    await fc.assert(
      fc.asyncProperty(
        answers,
        runs,
        fc.integer({ min: 1, max: 20 }),
        fc.nat(400),
        async (answer, run, size, length) => {
          const plain = await tell(broken(answer, size, length), { ...run, scriptSourceDeltas: false });
          const told = await tell(broken(answer, size, length), run);
          expectWholeItems(told);
          expect(comparable(withoutTyping(told))).toEqual(comparable(withoutTyping(plain)));
          expect(comparable(foldResponse(told).output_items)).toEqual(comparable(foldResponse(plain).output_items));
          for (const { id, source_code: source } of scriptsOf(told)) {
            const was = typed(told).get(id);
            // Text that follows neither a script nor a pending script was emitted at once.
            expect([source, '']).toContain(was);
            if (was !== '') scripts += 1;
          }
        },
      ),
      { numRuns: tries(80), interruptAfterTimeLimit: 25_000, markInterruptAsFailure: false },
    );
    expect(scripts).toBeGreaterThan(0);
  });
});

describe('runScript, for a host that has streamed the script’s source', () => {
  it('emits no second start, and keeps the id', async () => {
    const events: StreamEvent[] = [];
    const item = { id: 'item_mine', stage: 'started' as const, note: 'kept' };
    await harness.runScript('return 1;', { item, onEvent: (event) => void events.push(event) });
    expect(brief(events)).toEqual([
      'done script_execution',
      'start script_execution_output',
      'done script_execution_output',
    ]);
    const [first] = events;
    if (first?.payload.type !== 'item_done') throw new Error('the script is not told');
    expect(first.payload.final_item).toMatchObject({ id: 'item_mine', note: 'kept', source_code: 'return 1;' });
    expect(first.payload.final_item).not.toHaveProperty('stage');
  });
});

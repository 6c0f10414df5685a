import { describe, expect, test } from 'vitest';
import { resumeAgent, runAgent } from '#core/agent/index.js';
import { scriptedModel } from '#core/providers/index.js';
import type { EventPayload, ModelProvider, StreamEvent } from '#core/protocol/index.js';
import {
  APIS,
  collectRun,
  essences,
  expectClean,
  NONCE,
  openScene,
  openWorld,
  play,
  type Played,
  type World,
} from './running.js';

const NOTE = (text: string) => `return await tools.note({ text: '${text}' });`;
const GUARDED = "const { done } = await tools.guarded({ text: 'x' });\nreturn done;";
const say = (text: string, expected: string[] = []) => ({ parts: [{ type: 'text' as const, text }], expect: expected });

function doneOf({ events }: Pick<Played, 'events'>) {
  const { payload } = events.at(-1)!;
  if (payload.type !== 'response_done') throw new Error('the run has no end');
  return payload;
}

const resultOf = ({ history }: Played) =>
  history.filter(({ type }) => type === 'script_execution_output').map((item) => essences([item])[0]);

describe.each(APIS)('%s', (api) => {
  describe.each([{ carrier: 'tool' as const }, { carrier: 'text' as const }])('carrier $carrier', (agent) => {
    test('a script that waits suspends the run, which continues to its end after the decision', async () => {
      const world = openWorld();
      const scene = await openScene(api, [
        {
          parts: [
            { type: 'text', text: 'I ask. ' },
            { type: 'script', code: GUARDED },
          ],
        },
        say('Done.', ['Value: "x"']),
      ]);
      const first = await play(world, scene, agent);
      const { status } = doneOf(first);
      expect(status).toBe('suspended');
      expect(first.response.status).toBe('suspended');
      expect(resultOf(first)).toEqual([]);
      const second = await resume(world, scene.provider, agent, [first, first], 'approve');
      expectClean(scene);
      expect(second.response.status).toBe('completed');
      expect(world.calls).toEqual(['guarded {"text":"x"}']);
      expect(resultOf(second)).toEqual(['result completed: Script completed, 1 tool call: 1 done.']);
      expect(essences(second.history).filter((line) => line.startsWith('script '))).toEqual([
        expect.stringContaining('script completed'),
      ]);
      expect(essences(second.history).at(-1)).toBe('assistant: Done.');
    });

    test('a suspension is resumed once: the second attempt fails without a question', async () => {
      const world = openWorld();
      const scene = await openScene(api, [{ parts: [{ type: 'script', code: GUARDED }] }, say('Done.')]);
      const first = await play(world, scene, agent);
      await resume(world, scene.provider, agent, [first, first], 'deny');
      const again = await resume(world, scene.provider, agent, [first, first], 'approve');
      expect(again.response).toMatchObject({ status: 'failed', error: { code: 'SuspensionError' } });
      expectClean(scene);
      expect(world.calls).toEqual([]);
    });

    test('a new prompt closes the pending script, whose outcome is appended later', async () => {
      const world = openWorld();
      const scene = await openScene(api, [
        { parts: [{ type: 'script', code: GUARDED }] },
        say('It waits still.', ['an approval is pending', 'And now?']),
        say('Now it is done.', ['Script completed']),
      ]);
      const first = await play(world, scene, agent, { threadId: 'thr_2' });
      const more = { threadId: 'thr_2', history: first.history, input: 'And now?' };
      const second = await play(world, scene, agent, more);
      expect(second.response.status).toBe('completed');
      const third = await resume(world, scene.provider, agent, [second, first], 'approve');
      expectClean(scene);
      expect(third.response.status).toBe('completed');
      expect(essences(third.history).at(-1)).toBe('assistant: Now it is done.');
    });

    test('an abort ends a running script and its run, and the conversation can continue', async () => {
      const world = openWorld();
      const scene = await openScene(api, [
        { parts: [{ type: 'script', code: 'return await tools.slow({ ms: 60_000 });' }] },
        say('Fine.', ['ScriptCancelledError', 'Go on.']),
      ]);
      const stop = new AbortController();
      const watched = watch(
        runAgent({ ...base(world, scene.provider, agent), input: 'Do it.', threadId: 't', signal: stop.signal }),
        ({ type }) => type === 'tool_call_start',
        () => stop.abort(),
      );
      const first = await collectRun(watched);
      expect(doneOf(first).status).toBe('cancelled');
      expect(resultOf(first)).toEqual([expect.stringContaining('ScriptCancelledError')]);
      await play(world, scene, agent, { history: first.history, input: 'Go on.', threadId: 't' });
      expectClean(scene);
    });
  });

  test('the rest of an answer after a waiting script runs when that script has ended', async () => {
    for (const [agent, parts] of [
      [
        { carrier: 'tool' as const, functions: 'all' as const },
        [{ type: 'call' as const, name: 'note', arguments: { text: 'behind' } }],
      ],
      [
        { carrier: 'text' as const, afterScript: 'continue' as const },
        [
          { type: 'text' as const, text: '\nThen:\n' },
          { type: 'script' as const, code: NOTE('behind') },
        ],
      ],
    ] as const) {
      const world = openWorld();
      const scene = await openScene(api, [
        { parts: [{ type: 'script', code: GUARDED }, ...parts] },
        say('Both.', ['behind']),
      ]);
      const first = await play(world, scene, agent);
      expect(doneOf(first).status).toBe('suspended');
      expect(world.calls).toEqual([]);
      const second = await resume(world, scene.provider, agent, [first, first], 'approve');
      expectClean(scene);
      expect(second.response.status).toBe('completed');
      expect(world.calls).toEqual(['guarded {"text":"x"}', 'note {"text":"behind"}']);
    }
  });

  test('a provider failure before any script fails the run, and keeps the text so far', async () => {
    const world = openWorld();
    const scene = await openScene(api, [
      {
        parts: [
          { type: 'text', text: 'I begin' },
          { type: 'error', code: 'overloaded', message: 'Too much.' },
        ],
      },
    ]);
    const { response, history } = await play(world, scene, { carrier: 'text' });
    expect(response).toMatchObject({ status: 'failed', error: { code: 'overloaded' } });
    expect(essences(history)).toContain('assistant: I begin');
  });

  test('a rejected request fails the run with the provider’s code', async () => {
    const world = openWorld();
    const scene = await openScene(api, [{ type: 'failure', status: 500, code: 'broken' }]);
    const { response } = await play(world, scene, {});
    expect(response).toMatchObject({ status: 'failed', error: { code: 'broken' } });
  });

  test.each(['cut', 'error'] as const)(
    'a provider failure (%s) after a script keeps the script’s result, without a second request',
    async (type) => {
      const world = openWorld();
      const failure = type === 'cut' ? { type } : { type, code: 'overloaded', message: 'Too much.' };
      const scene = await openScene(api, [
        {
          parts: [
            { type: 'text', text: 'Now.\n' },
            { type: 'script', code: NOTE('once') },
            { type: 'text', text: '\nAnd I go o' },
            failure,
          ],
        },
        say('Done.', ['Script completed']),
      ]);
      const { response, history } = await play(world, scene, { carrier: 'text', afterScript: 'continue' });
      expectClean(scene);
      expect(response.status).toBe('completed');
      expect(world.calls).toEqual(['note {"text":"once"}']);
      expect(history.filter((item) => item.type === 'error')).toHaveLength(1);
    },
  );

  test('an abort in the middle of the answer closes its items', async () => {
    const world = openWorld();
    const scene = await openScene(api, [
      {
        parts: [
          { type: 'text', text: 'A long story' },
          { type: 'wait', ms: 60_000 },
        ],
      },
    ]);
    const stop = new AbortController();
    const watched = watch(
      runAgent({ ...base(world, scene.provider, { carrier: 'text' }), input: 'Tell.', signal: stop.signal }),
      ({ type }) => type === 'item_delta',
      () => stop.abort(),
    );
    const { response, events } = await collectRun(watched);
    expect(response.status).toBe('cancelled');
    expect(events.map(({ payload }) => payload.type)).toContain('item_cancelled');
  });

  test('maxTurns ends a run that would never end; so does a token budget', async () => {
    const endless = Array.from({ length: 3 }, (_, index) => ({
      parts: [{ type: 'script' as const, code: NOTE(String(index)) }],
      usage: { input_tokens: 100, output_tokens: 20 },
    }));
    for (const [agent, turns, reason] of [
      [{ maxTurns: 3 }, 3, 'max_turns'],
      [{ tokenBudget: 200 }, 2, 'token_budget'],
    ] as const) {
      const world = openWorld();
      const scene = await openScene(api, endless);
      const played = await play(world, scene, agent);
      expect(doneOf(played)).toMatchObject({ status: 'incomplete', incomplete_reason: reason });
      expect(played.response.usage).toMatchObject({ input_tokens: 100 * turns, output_tokens: 20 * turns });
      expect(scene.server.requests).toHaveLength(turns);
      expect(resultOf(played)).toHaveLength(turns);
    }
  });

  test.each(['max_output_tokens', 'content_filter', 'context_window'] as const)('%s ends the run', async (stop) => {
    const world = openWorld();
    const scene = await openScene(api, [{ parts: [{ type: 'text', text: 'So far' }], stop }]);
    const played = await play(world, scene, {});
    expect(doneOf(played).status).toBe('incomplete');
    expect(doneOf(played).incomplete_reason).toBeTypeOf('string');
  });

  test('a script that the end of the answer truncated is reported to the model, and never runs', async () => {
    const world = openWorld();
    const scene = await openScene(api, [
      {
        parts: [{ type: 'text', text: `<tool-calls id="${NONCE}">\nreturn await tools.note({ te` }],
        stop: 'max_output_tokens',
      },
      say('I see.', ['ScriptSyntaxError']),
    ]);
    const { response } = await play(world, scene, { carrier: 'text' });
    expectClean(scene);
    expect(response.status).toBe('completed');
    expect(world.calls).toEqual([]);
  });

  test('nothing after a failed script of an answer runs, unless the agent allows it', async () => {
    for (const continueOnError of [false, true]) {
      const world = openWorld();
      const parts = [
        { type: 'script' as const, code: 'return await tools.fail({});' },
        { type: 'script' as const, code: NOTE('script') },
        { type: 'call' as const, name: 'note', arguments: { text: 'call' } },
      ];
      const scene = await openScene(api, [
        { parts },
        say('I see.', continueOnError ? [] : ['ScriptSkippedError', 'was not made']),
      ]);
      await play(world, scene, { functions: 'all', continueOnError });
      expectClean(scene);
      expect(world.calls.filter((call) => call.startsWith('note'))).toHaveLength(continueOnError ? 2 : 0);
    }
  });
});

test('leaving the loop ends the script and the stream', async () => {
  const world = openWorld();
  const provider = scriptedModel({
    turns: [{ parts: [{ type: 'script', code: 'return await tools.slow({ ms: 600_000 });' }] }],
  });
  for await (const { payload } of runAgent({ ...base(world, provider, {}), input: 'Do it.' }))
    if (payload.type === 'tool_call_start') break;
  expect(world.calls).toHaveLength(1);
});

test('an exception of a provider is a failed answer', async () => {
  const world = openWorld();
  const provider: ModelProvider = {
    api: 'mine',
    model: 'm',
    capabilities: { stopSequences: false, customTools: false },
    async *stream() {
      yield { type: 'response_start' };
      throw new Error('no such thing');
    },
  };
  const { response } = await collectRun(runAgent({ ...base(world, provider, {}), input: 'Do it.' }));
  expect(response).toMatchObject({ status: 'failed', error: { code: 'AnswerInterrupted', message: 'no such thing' } });
});

test('a provider that ignores the abort does not delay the run', async () => {
  const world = openWorld();
  const provider: ModelProvider = {
    api: 'mine',
    model: 'm',
    capabilities: { stopSequences: false, customTools: false },
    async *stream() {
      yield { type: 'response_start' };
      yield { type: 'item_start', item_id: 'item_deaf', item_type: 'message', initial: { role: 'assistant' } };
      yield { type: 'item_delta', item_id: 'item_deaf', delta: 'I go on' };
      await new Promise(() => {});
    },
  };
  const stop = new AbortController();
  const run = runAgent({ ...base(world, provider, {}), input: 'Do it.', signal: stop.signal });
  const { response } = await collectRun(
    watch(
      run,
      ({ type }) => type === 'item_delta',
      () => stop.abort(),
    ),
  );
  expect(response).toMatchObject({ status: 'cancelled', output_items: [{ cancelled: true }] });
});

function base(world: World, provider: ModelProvider, agent: object) {
  return { provider, harness: world.harness, agent: { slug: 'tester', ...agent }, nonce: NONCE };
}

/** Resumes the run: its events follow those of the last one. `asked`: the suspended run. */
function resume(
  world: World,
  provider: ModelProvider,
  agent: object,
  [before, asked]: readonly [before: Played, asked: Played],
  decision: 'approve' | 'deny',
): Promise<Played> {
  const { run_id: runId, thread_id: threadId, seq } = before.events.at(-1)!;
  const decisions: Record<string, 'approve' | 'deny'> = {};
  for (const { payload } of asked.events)
    if (payload.type === 'approval_requested') decisions[payload.approval.approval_id] = decision;
  expect(Object.keys(decisions)).toHaveLength(1);
  const suspension = doneOf(asked).script_id!;
  const options = { ...base(world, provider, agent), history: before.history, suspension, decisions, threadId };
  return collectRun(resumeAgent({ ...options, runId, nextSeq: seq + 1 }), before.history, seq + 1);
}

async function* watch(
  events: AsyncIterable<StreamEvent>,
  isMeant: (payload: EventPayload) => boolean,
  act: (payload: EventPayload) => void,
): AsyncGenerator<StreamEvent> {
  for await (const event of events) {
    if (isMeant(event.payload)) act(event.payload);
    yield event;
  }
}

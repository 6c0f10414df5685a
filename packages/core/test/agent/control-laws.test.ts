import { describe, expect, test } from 'vitest';
import { agentBeginning, defineAgent, resumeAgent, runAgent, type RunAgentOptions } from '#core/agent/index.js';
import { memoryStore, type HarnessOptions } from '#core/index.js';
import type { ApprovalRequest, HarnessMode, OutputItem } from '#core/protocol/index.js';
import { collectRun, essences, expectClean, NONCE, openWorld, type Played } from './running.js';
import {
  call,
  comparable,
  expectSame,
  isInText,
  onlyItem,
  playOnEach,
  providerOf,
  says,
  script,
  SCRIPT_WAYS,
  text,
  type Part,
  type Take,
} from './ways.js';

const ADD = 'return (await tools.add({ a: 2, b: 3 })).sum;';
const GUARDED =
  "await tools.note({ text: 'before' });\nconst { done } = await tools.guarded({ text: 'x' });\nreturn done;";
/** The custom tool is an additional tool; only its wire format differs. */
const WAYS = SCRIPT_WAYS.filter(({ agent }) => agent.carrier !== 'custom');
const KEY = 'a secret of more than thirty-two bytes';
const WARNING = 'assistant: [Scripts are disabled, so the script at this place did not run.]';

function endOf({ events }: Played) {
  const { payload } = events.at(-1)!;
  if (payload.type !== 'response_done') throw new Error('the run has no end');
  return payload;
}

function askedOf({ events }: Played) {
  return events.flatMap(({ payload }) => (payload.type === 'approval_requested' ? [payload.approval] : []));
}

describe('the user sees the call and its place, and the script continues after the decision', () => {
  const store = memoryStore();
  const turns = [{ parts: [text('I ask.\n'), script(GUARDED)] }, says('Decided.', ['Script'])];

  /** Each run was suspended; another process resumes it with only the key and the stored data. */
  async function resumeEach(takes: readonly Take[], agent: object, decision: 'approve' | 'deny'): Promise<Take[]> {
    await takes[0]!.harness.close();
    const { harness, calls } = openWorld({ suspensionKey: KEY, store });
    const resumed: Take[] = [];
    for (const { api, scene, played } of takes) {
      const stored = JSON.parse(JSON.stringify([played.history, endOf(played).script_id])) as [OutputItem[], string];
      const [history, suspension] = stored;
      const [request] = askedOf(played);
      const run = resumeAgent({
        provider: providerOf(api, scene.server.baseUrl),
        harness,
        agent: { slug: 'tester', reasoningEffort: 'medium', ...agent },
        history,
        nonce: NONCE,
        suspension,
        decisions: { [request!.approval_id]: decision },
        threadId: played.events[0]!.thread_id,
      });
      const ended = await collectRun(run, history);
      expectClean(scene);
      resumed.push({ api, harness, calls: calls.splice(0), scene, played: ended });
    }
    return resumed;
  }

  describe.each(WAYS)('$way', ({ agent }) => {
    const suspend = () => playOnEach({ agent, turns, world: { suspensionKey: KEY, store }, leaves: 1 });

    test('the request names the script, the line and the exact arguments, before anything has run', async () => {
      for (const { calls, played } of await suspend()) {
        expect(endOf(played)).toMatchObject({
          status: 'suspended',
          approval_ids: askedOf(played).map(({ approval_id: id }) => id),
        });
        expect(JSON.stringify(played.events)).not.toContain('sealed');
        expect(calls).toEqual(['note {"text":"before"}']);
        const execution = onlyItem(played.history, 'script_execution');
        expect(execution.status).toBe('suspended');
        const started = played.events.find(({ payload }) => payload.type === 'tool_call_start')!.payload;
        expect(askedOf(played)).toMatchObject([
          {
            tool: 'guarded',
            effect: 'write',
            script_id: endOf(played).script_id,
            line: 2,
            snippet: expect.stringContaining("tools.guarded({ text: 'x' })") as unknown,
            input: { text: 'x' },
            input_json: '{"text":"x"}',
            rendered: expect.stringContaining('x') as unknown,
          },
        ]);
        expect(started).toMatchObject({ tool: 'note', script_id: endOf(played).script_id });
      }
    });

    test('a call that is approved in another process ends as if it had never waited', async () => {
      const resumed = await resumeEach(await suspend(), agent, 'approve');
      expectSame(resumed);
      for (const { calls, played } of resumed) {
        expect(calls).toEqual(['guarded {"text":"x"}']);
        expect(played.response.status).toBe('completed');
        expect(onlyItem(played.history, 'script_execution_output')).toMatchObject({ status: 'completed', result: 'x' });
      }
      const [atOnce] = await playOnEach({ agent, turns, more: { approvals: () => 'approve' } });
      expect(comparable(resumed[0]!.played.history)).toEqual(comparable(atOnce!.played.history));
    });

    test('the model reads a denial, and the call is never made', async () => {
      const resumed = await resumeEach(await suspend(), agent, 'deny');
      expectSame(resumed);
      for (const { calls, played } of resumed) {
        expect(calls).toEqual([]);
        expect(onlyItem(played.history, 'script_execution_output')).toMatchObject({
          status: 'failed',
          error: { code: 'ApprovalDeniedError', line: 2 },
          operations: [
            { tool: 'note', status: 'completed' },
            { tool: 'guarded', status: 'denied' },
          ],
        });
        expect(essences(played.history).at(-1)).toBe('assistant: Decided.');
      }
    });
  });

  describe('a structured call without a decision', () => {
    const agent = { functions: 'all' } as const;
    const turns = [
      { parts: [call('guarded', { text: 'x' }), call('note', { text: 'after' }), script("return 'last';")] },
      says('Decided.', ['"noted"', 'last']),
    ];
    const suspend = () => playOnEach({ agent, turns, world: { suspensionKey: KEY, store }, leaves: 1 });

    test('suspends the run, and nothing after it runs', async () => {
      for (const { calls, played } of await suspend()) {
        expect(endOf(played)).toMatchObject({ status: 'suspended', approval_ids: [expect.any(String)] });
        expect(askedOf(played)).toMatchObject([{ tool: 'guarded', script_id: endOf(played).script_id }]);
        expect(calls).toEqual([]);
        expect(played.history.filter(({ type }) => type.endsWith('output'))).toEqual([]);
      }
    });

    test('has its result at the end of the conversation if a prompt came first', async () => {
      const [first] = turns;
      for (const { api, harness, played, scene } of await playOnEach({
        agent,
        turns: [first!, says('Something else.', ['it waits for the user']), says('Decided.', ['"done":"x"'])],
        world: { suspensionKey: KEY, store },
        leaves: 2,
      })) {
        const settings = { slug: 'tester', reasoningEffort: 'medium' as const, ...agent };
        const common = { provider: providerOf(api, scene.server.baseUrl), harness, agent: settings, nonce: NONCE };
        const other = await collectRun(runAgent({ ...common, history: played.history, input: 'And?' }), played.history);
        const decisions = { [askedOf(played)[0]!.approval_id]: 'approve' as const };
        const suspension = endOf(played).script_id!;
        const resumed = resumeAgent({ ...common, history: other.history, suspension, decisions });
        expect(endOf(await collectRun(resumed, other.history)).status).toBe('completed');
        expectClean(scene);
      }
    });

    test.each(['approve', 'deny'] as const)(
      'has its result after %s, and then the rest of its answer runs',
      async (decision) => {
        for (const { calls, played } of await resumeEach(await suspend(), agent, decision)) {
          expect(endOf(played).status).toBe('completed');
          const made = ['note {"text":"after"}'];
          expect(calls).toEqual(decision === 'approve' ? ['guarded {"text":"x"}', ...made] : made);
          const [guarded, note] = played.history.filter((item) => item.type === 'function_call_output');
          expect(guarded).toMatchObject({ success: decision === 'approve' });
          expect(guarded!.output).toContain(decision === 'approve' ? '"done":"x"' : 'ApprovalDeniedError');
          expect(note).toMatchObject({ success: true });
          expect(onlyItem(played.history, 'script_execution_output').result).toBe('last');
        }
      },
    );
  });

  test('a structured call and a script show the user the same call', async () => {
    const requests: ApprovalRequest[] = [];
    const approvals = (request: ApprovalRequest) => {
      requests.push(request);
      return 'approve' as const;
    };
    const both = [call('guarded', { text: 'x' }), script("await tools.guarded({ text: 'x' });")];
    const takes = await playOnEach({
      agent: { functions: 'all' },
      turns: [{ parts: both }, says('Both.')],
      more: { approvals },
    });
    expect(requests).toHaveLength(2 * takes.length);
    for (let index = 0; index < requests.length; index += 2) {
      const [byCall, byScript] = requests.slice(index, index + 2);
      for (const member of ['tool', 'input', 'inputJson', 'effect', 'rendered'] as const)
        expect(byCall![member]).toEqual(byScript![member]);
      expect(byScript!.scriptId).toMatch(/^scr_/u);
    }
  });
});

describe('a timeout is in the history, with the work completed before it', () => {
  test.each(WAYS)('$way', async ({ agent }) => {
    const code =
      "await tools.note({ text: 'done' });\nawait tools.slow({ ms: 600_000 });\nawait tools.note({ text: 'never' });";
    const takes = await playOnEach({
      agent: { ...agent, limits: { timeoutMs: 4_000 } },
      turns: [{ parts: [script(code)] }, says('It took too long.', ['ScriptTimeoutError', 'note', 'slow'])],
    });
    for (const { calls, played } of takes) {
      expect(calls).toEqual(['note {"text":"done"}', 'slow {"ms":600000}']);
      expect(onlyItem(played.history, 'script_execution').status).toBe('error');
      expect(onlyItem(played.history, 'script_execution_output')).toMatchObject({
        status: 'failed',
        error: { code: 'ScriptTimeoutError', phase: 'executing' },
        output_json: expect.stringMatching(/partialResults.*done/u) as unknown,
        operations: [
          { tool: 'note', status: 'completed', line: 1 },
          { tool: 'slow', status: 'aborted', line: 2 },
        ],
      });
      const ended = played.events.flatMap(({ payload }) =>
        payload.type === 'tool_call_done' ? [payload.operation.status] : [],
      );
      expect(ended).toEqual(['completed', 'aborted']);
      expect(essences(played.history).at(-1)).toBe('assistant: It took too long.');
      expect(played.response.status).toBe('completed');
    }
  });
});

describe('if scripts are disabled, none is offered or run, and structured calls work', () => {
  test.each(WAYS)('$way', async (way) => {
    const block: Part = { type: 'script', carrier: 'text', code: ADD };
    const takes = await playOnEach({
      agent: way.agent,
      world: { alone: true, mode: 'disabled' },
      turns: [
        { parts: [text('One by one.\n'), call('add', { a: 1, b: 1 }), call('note', { text: 'noted' })] },
        { parts: [text('So: '), block, text('\nThat is it.')], expect: ['"sum":2', '"noted"'] },
      ],
    });
    for (const { harness, calls, scene, played } of takes) {
      const [request] = scene.server.requests;
      expect(JSON.stringify(request)).not.toMatch(/run_script|tool-calls/u);
      expect((request as { tools: unknown[] }).tools).toHaveLength(harness.tools().length);
      expect(calls).toEqual(['add {"a":1,"b":1}', 'note {"text":"noted"}']);
      expect(played.history.map(({ type }) => type)).not.toContain('script_execution');
      const said = essences(played.history).slice(-3);
      expect(said).toEqual(
        isInText(way)
          ? ['assistant: So: ', WARNING, 'assistant: \nThat is it.']
          : [...said.slice(0, 2), `assistant: So: <tool-calls>\n${ADD}\n</tool-calls>\nThat is it.`],
      );
      expect(harness.stats()).toMatchObject({ compiler: { misses: 0 }, sandbox: { completed: 0 } });
    }
  });

  test('a model that calls the script tool anyway reads that there is none', async () => {
    const [take] = await playOnEach({
      agent: { carrier: 'tool', mode: 'disabled' },
      turns: [{ parts: [call('run_script', { code: ADD })] }, says('I see.', ['ScriptDisabledError'])],
    });
    expect(take!.calls).toEqual([]);
  });
});

describe('a dry run checks, reports and measures, and calls nothing', () => {
  test.each(WAYS)('$way', async ({ agent }) => {
    const takes = await playOnEach({
      agent: { ...agent, functions: 'all', mode: 'dry-run' },
      world: { typecheck: 'error', alone: true },
      turns: [
        { parts: [text('Sound:\n'), script(ADD)] },
        { parts: [text('Wrong:\n'), script('return await tools.add({ a: "two" });')], expect: ['dry run', '- add'] },
        { parts: [call('note', { text: 'x' })], expect: ['ScriptTypeError'] },
        says('Checked.', ['the call was not made']),
      ],
    });
    for (const { harness, calls, played } of takes) {
      expect(calls).toEqual([]);
      const [sound, wrong] = played.history.filter((item) => item.type === 'script_execution');
      expect([sound!.status, wrong!.status]).toEqual(['completed', 'error']);
      expect(sound!.plan).toMatchObject([{ tool: 'add', input: { a: 2, b: 3 }, line: 1 }]);
      const outputs = played.history.filter((item) => item.type === 'script_execution_output');
      expect(outputs).toMatchObject([
        { status: 'completed', operations: [], metadata: { tool_calls_made: 0 } },
        {
          status: 'failed',
          operations: [],
          error: { code: 'ScriptTypeError', line: 1 },
          metadata: { tool_calls_made: 0 },
        },
      ]);
      for (const { metadata } of outputs) {
        for (const figure of ['duration_ms', 'compute_ms', 'memory_used_mb'] as const)
          expect(metadata[figure]).toBeGreaterThanOrEqual(0);
      }
      expect(harness.stats()).toMatchObject({ compiler: { misses: 2 }, sandbox: { completed: 0 } });
      expect(played.response.usage?.total_tokens).toBeGreaterThan(0);
    }
  });
});

describe('options of a run take precedence over the agent’s, and those over the harness’s', () => {
  const modes: [HarnessMode | undefined, HarnessMode | undefined, HarnessMode | undefined, HarnessMode][] = [
    [undefined, undefined, undefined, 'enabled'],
    ['disabled', undefined, undefined, 'disabled'],
    ['disabled', 'dry-run', undefined, 'dry-run'],
    ['disabled', 'dry-run', 'enabled', 'enabled'],
    ['enabled', 'disabled', undefined, 'disabled'],
    ['enabled', 'enabled', 'dry-run', 'dry-run'],
    ['dry-run', 'enabled', 'disabled', 'disabled'],
  ];

  test.each(modes)('mode: harness %s, agent %s, run %s: %s', async (ofHarness, ofAgent, ofRun, mode) => {
    const outcome = { enabled: ['Value: 5'], 'dry-run': ['This is a dry run'], disabled: [] }[mode];
    const takes = await playOnEach({
      agent: { carrier: 'text', ...given({ mode: ofAgent }) },
      world: given({ mode: ofHarness }),
      more: given({ mode: ofRun }),
      turns: [{ parts: [text('So: '), script(ADD)] }, ...(mode === 'disabled' ? [] : [says('I see.', outcome)])],
    });
    for (const { calls, played } of takes) {
      expect(calls).toHaveLength(mode === 'enabled' ? 1 : 0);
      expect(essences(played.history).includes(WARNING)).toBe(mode === 'disabled');
    }
  });

  test.each(WAYS)('$way: limits, one by one', async ({ agent }) => {
    const takes = await playOnEach({
      agent: { ...agent, limits: { memoryMb: 48, maxToolCalls: 7 } },
      world: { limits: { timeoutMs: 20_000, memoryMb: 64, maxToolCalls: 9 } },
      more: { limits: { maxToolCalls: 2 } },
      turns: [
        { parts: [script('const { timeoutMs, memoryMb } = context.sandbox;\nreturn [timeoutMs, memoryMb];')] },
        { parts: [script('for (let i = 0; i < 5; i++) await tools.note({ text: `${i}` });')] },
        says('Two of five.', ['ToolBudgetExceededError']),
      ],
    });
    for (const { calls, played } of takes) {
      const [first] = played.history.filter((item) => item.type === 'script_execution_output');
      expect(first!.result).toEqual([20_000, 48]);
      expect(calls).toEqual(['note {"text":"0"}', 'note {"text":"1"}']);
    }
  });

  test('an agent without limits may make 256 calls, 16 at once, and its model reads these numbers', async () => {
    const script40 =
      'return (await Promise.all(Array.from({ length: 40 }, (_, n) => tools.add({ a: n, b: 0 })))).length;';
    const takes = await playOnEach({
      agent: {},
      turns: [
        {
          parts: [
            script(
              'const { timeoutMs, remainingToolBudget, maxConcurrentToolCalls } = context.sandbox;\nreturn [timeoutMs, remainingToolBudget, maxConcurrentToolCalls];',
            ),
          ],
        },
        { parts: [script(script40)] },
        says('Forty.'),
      ],
    });
    for (const { played, harness } of takes) {
      const results = played.history.flatMap((item) => (item.type === 'script_execution_output' ? [item.result] : []));
      expect(results).toEqual([[600_000, 256, 16], 40]);
      const agent = defineAgent({ slug: 'worker' });
      const { system } = agentBeginning(harness, { capabilities: { customTools: false } as never }, agent);
      expect(system).toContain('One script: 256 tool calls, 16 at once; 600 s;');
    }
  });

  test('the same limits apply to structured calls', async () => {
    const takes = await playOnEach({
      agent: { functions: 'all', limits: { maxToolInputBytes: 60 } },
      world: { limits: { maxToolInputBytes: 20 } },
      more: { limits: { modelOutputTokens: 8 } },
      turns: [{ parts: [call('note', { text: 'x'.repeat(45) })] }, says('Noted.')],
    });
    for (const { calls, played } of takes) {
      expect(calls).toHaveLength(1);
      const { output } = onlyItem(played.history, 'function_call_output');
      expect(output).not.toContain('x'.repeat(45));
    }
  });
});

/** The members that are present. */
function given<Members extends Partial<HarnessOptions & RunAgentOptions>>(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Members;
}

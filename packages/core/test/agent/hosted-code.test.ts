import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { recoverRun, resumeAgent, runAgent, type AgentInput, type ResumeAgentOptions } from '#core/agent/index.js';
import { createHarness, defineTool } from '#core/index.js';
import { createProvider } from '#core/providers/index.js';
import type { OutputItem, StreamEvent, ToolCallers } from '#core/protocol/index.js';
import { tries } from '@toolscript/testkit/some-cases';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { HOSTED_APIS, startHostedService, type HostedApi, type HostedService, type Step } from './hosted-services.js';
import { PIXEL_PART } from './pixel.js';
import { collectRun, type Played } from './running.js';

const AGENT: AgentInput = { slug: 'hosted', carrier: 'hosted', maxTurns: 12 };

/** `add` reads, `note` writes, `guarded` writes and always asks; `calls` are the calls that ran. */
function openTools(
  callers: { readonly note?: ToolCallers; readonly guarded?: ToolCallers; readonly add?: ToolCallers } = {},
) {
  const calls: string[] = [];
  const tool = (
    name: 'add' | 'note' | 'guarded' | 'shot' | 'long',
    effect: 'read' | 'write',
    run: (input: never) => unknown,
  ) =>
    defineTool({
      name,
      description: `The tool ${name}`,
      effect,
      approval: name === 'guarded' ? 'always' : 'never',
      ...(name in callers ? { callers: callers[name as 'note'] } : {}),
      inputSchema: { type: 'object' },
      ...(name === 'add' ? { output: z.object({ sum: z.number() }) } : {}),
      execute: (input: unknown) => {
        calls.push(`${name} ${JSON.stringify(input)}`);
        return run(input as never);
      },
    } as never);
  const harness = createHarness({
    tools: [
      tool('add', 'read', ({ a, b }: { a: number; b: number }) => ({ sum: a + b })),
      tool('note', 'write', () => ({ success: true, content: 'noted' })),
      tool('guarded', 'write', () => ({ done: true })),
      tool('shot', 'read', () => PIXEL_PART),
      tool('long', 'read', () => ({ text: 'x'.repeat(200_000) })),
    ] as never,
    typecheck: 'off',
    ...sharedThreads(),
  });
  onTestFinished(() => harness.close());
  return { harness, calls };
}

type Tools = ReturnType<typeof openTools>;

function providerOf(api: HostedApi, { baseUrl }: Pick<HostedService, 'baseUrl'>) {
  return createProvider(api, { model: 'm', baseUrl, retries: { maxRetries: 0 }, environment: {} });
}

interface Setting {
  readonly tools?: Tools;
  readonly expiresAt?: () => string;
  readonly agent?: Partial<AgentInput>;
}

async function runPlan(api: HostedApi, plan: Step[], { tools = openTools(), expiresAt, agent }: Setting = {}) {
  const service = await startHostedService(api, plan, expiresAt);
  const common = { provider: providerOf(api, service), harness: tools.harness, agent: { ...AGENT, ...agent } };
  const played = await collectRun(runAgent({ ...common, input: 'Add them.' }));
  return { service, common, played, calls: tools.calls };
}

const add = (a: number) => ({ name: 'add', args: { a, b: 2 } });
const outputsOf = ({ history }: Pick<Played, 'history'>) =>
  history.flatMap((item) => (item.type === 'function_call_output' ? [item.output] : []));
const ofType = (items: readonly OutputItem[], type: OutputItem['type']) => items.filter((item) => item.type === type);
const toolOf = (request: unknown, name: string) =>
  (request as { tools: { name?: string }[] }).tools.find((tool) => tool.name === name);

function suspensionOf({ events }: Played) {
  const end = events.at(-1)!.payload;
  if (end.type !== 'response_done' || end.script_id === undefined) throw new Error('The run is not suspended.');
  const decisions = { [end.approval_ids![0]!]: 'approve' as const };
  return { suspension: end.script_id, decisions };
}

const PAST = () => '2001-01-01T00:00:00Z';

describe.each(HOSTED_APIS)('code that a provider runs · %s', (api) => {
  const codeCaller = api === 'anthropic-messages' ? 'code_execution_20260120' : 'programmatic';

  test('calls tools through the harness, and is shown with its source and its output', async () => {
    const { played, service, calls } = await runPlan(api, [
      { type: 'calls', calls: [add(1), add(5)] },
      { type: 'calls', calls: [add(7)], newCode: false },
      { type: 'output', output: '[3, 7, 9]', text: 'Done.' },
    ]);
    expect(service.faults).toEqual([]);
    expect(calls).toEqual(['add {"a":1,"b":2}', 'add {"a":5,"b":2}', 'add {"a":7,"b":2}']);
    expect(outputsOf(played)).toEqual(['{"sum":3}', '{"sum":7}', '{"sum":9}']);
    expect(played.response.status).toBe('completed');
    const [code] = ofType(played.history, 'hosted_code');
    expect(code).toMatchObject({ source_code: expect.stringContaining('await add') as unknown });
    expect(ofType(played.history, 'hosted_code_output')).toMatchObject([
      { call_id: code!.call_id, output: '[3, 7, 9]', success: true },
    ]);
    const types = played.events.map(({ payload }) => payload.type);
    expect(types.filter((type) => type === 'tool_call_done')).toHaveLength(3);
  });

  test('may call only reads by default; a tool may be for the model, for code, or for both', async () => {
    const { service } = await runPlan(api, [{ type: 'text', text: 'Hello.' }]);
    const [request] = service.requests;
    expect(toolOf(request, 'add')).toMatchObject({ allowed_callers: ['direct', codeCaller] });
    expect(toolOf(request, 'note')).not.toHaveProperty('allowed_callers');
    const tools = openTools({ add: 'code', note: 'both', guarded: 'direct' });
    const other = await runPlan(api, [{ type: 'text', text: 'Hello.' }], { tools });
    const [asked] = other.service.requests;
    expect(toolOf(asked, 'add')).toMatchObject({ allowed_callers: [codeCaller] });
    expect(toolOf(asked, 'note')).toMatchObject({ allowed_callers: ['direct', codeCaller] });
    expect(toolOf(asked, 'guarded')).not.toHaveProperty('allowed_callers');
    expect(toolOf(asked, 'run_script')).toBeUndefined();
  });

  test('reads the shape of results in the request', async () => {
    const { service } = await runPlan(api, [{ type: 'text', text: 'Hello.' }]);
    expect(JSON.stringify(toolOf(service.requests[0], 'add'))).toContain('sum');
  });

  test('is not offered if scripts are disabled, and its calls are refused', async () => {
    const { service, calls, played } = await runPlan(
      api,
      [
        { type: 'calls', calls: [add(1)] },
        { type: 'output', output: '', text: 'Done.' },
      ],
      { agent: { mode: 'disabled' } },
    );
    expect(JSON.stringify(service.requests[0])).not.toContain('allowed_callers');
    expect(calls).toEqual([]);
    expect(outputsOf(played)).toEqual([expect.stringContaining('Code may not call this tool')]);
  });

  test('cannot call a tool that is only for the model, nor the model one that is only for code', async () => {
    const tools = openTools({ add: 'code' });
    const direct = { ...add(1), direct: true as const };
    const plan: Step[] = [
      { type: 'calls', calls: [{ name: 'note', args: {} }, direct] },
      { type: 'output', output: '', text: 'Done.' },
    ];
    const { calls, played, service } = await runPlan(api, plan, { tools });
    expect(service.faults).toEqual([]);
    expect(calls).toEqual([]);
    expect(outputsOf(played)).toEqual([
      expect.stringContaining('Code may not call this tool'),
      expect.stringContaining('Only code may call this tool'),
    ]);
  });

  test('reads a result whole and as JSON, whatever the model may read of one; images stay out', async () => {
    const tools = openTools({ note: 'code' });
    const plan: Step[] = [
      {
        type: 'calls',
        calls: [
          { name: 'long', args: {} },
          { name: 'note', args: {} },
          { name: 'shot', args: {} },
        ],
      },
      { type: 'output', output: '', text: 'Done.' },
    ];
    const { played, service } = await runPlan(api, plan, { tools });
    expect(service.faults).toEqual([]);
    const [long, note, shot] = outputsOf(played).map((output) => JSON.parse(output) as Record<string, unknown>);
    expect(long).toEqual({ text: 'x'.repeat(200_000) });
    expect(note).toEqual({ success: true, content: 'noted' });
    expect(shot).not.toHaveProperty('data');
  });

  test('waits for an approval, and reads the result of the call that was approved', async () => {
    const tools = openTools({ guarded: 'both' });
    const plan: Step[] = [
      { type: 'calls', calls: [add(1), { name: 'guarded', args: {} }, add(5)] },
      { type: 'output', output: 'ok', text: 'Done.' },
    ];
    const { played, common, service, calls } = await runPlan(api, plan, { tools });
    expect(calls).toEqual(['add {"a":1,"b":2}']);
    const resumed = await collectRun(
      resumeAgent({ ...common, history: played.history, ...suspensionOf(played) }),
      played.history,
    );
    expect(service.faults).toEqual([]);
    expect(calls).toEqual(['add {"a":1,"b":2}', 'guarded {}', 'add {"a":5,"b":2}']);
    expect(outputsOf(resumed)).toEqual(['{"sum":3}', '{"done":true}', '{"sum":7}']);
    expect(resumed.response.status).toBe('completed');
  });

  test('is lost when a new prompt comes before the decision; the model reads its calls', async () => {
    const tools = openTools({ guarded: 'both' });
    const plan: Step[] = [
      { type: 'calls', calls: [add(1), { name: 'guarded', args: {} }] },
      { type: 'text', text: 'I see.' },
      { type: 'text', text: 'Still there.' },
    ];
    const { played, common, service } = await runPlan(api, plan, { tools });
    const next = await collectRun(runAgent({ ...common, history: played.history, input: 'Wait.' }), played.history);
    const last = await collectRun(runAgent({ ...common, history: next.history, input: 'And now?' }), next.history);
    expect(service.faults).toEqual([]);
    expect(ofType(last.history, 'error')).toMatchObject([{ code: 'HostedContainerExpired' }]);
    for (const request of service.requests.slice(1)) {
      expect(request).not.toHaveProperty('container');
      expect(JSON.stringify(request)).toContain('do not repeat');
      expect(JSON.stringify(request)).toContain('Result: {\\"sum\\":3}');
    }
  });

  test('is not summarised away while it waits', async () => {
    const { service, played } = await runPlan(
      api,
      [
        { type: 'calls', calls: [{ name: 'long', args: {} }] },
        { type: 'calls', calls: [add(1)], newCode: false },
        { type: 'output', output: '1', text: 'Done.' },
      ],
      { agent: { contextWindow: 1000 } },
    );
    expect(service.faults).toEqual([]);
    expect(ofType(played.history, 'compaction')).toEqual([]);
  });

  test('that was interrupted with its process is continued with the results of its calls', async () => {
    const tools = openTools();
    const { played, common, service } = await runPlan(
      api,
      [
        { type: 'calls', calls: [add(1)] },
        { type: 'output', output: '3', text: 'Three.' },
        { type: 'output', output: '3', text: 'Three.' },
      ],
      { tools },
    );
    const end = played.events.findIndex(({ payload }) => payload.type === 'request_done');
    const events: StreamEvent[] = played.events.slice(0, end + 1);
    const recovered = await collectRun(recoverRun({ ...common, events }), [], end + 1);
    expect(service.faults).toEqual([]);
    expect(recovered.response.status).toBe('completed');
    expect(tools.calls).toEqual(['add {"a":1,"b":2}']);
  });

  test('whatever a plan does, every request follows the rules of its service', { timeout: 120_000 }, async () => {
    const call = fc.constantFrom(
      add(1),
      add(2),
      { name: 'note', args: {} },
      { ...add(3), direct: true as const },
      { name: 'guarded', args: {} },
    );
    const calls = fc.array(call, { minLength: 1, maxLength: 3 });
    const round = fc.record({
      calls: fc.array(calls, { maxLength: 3 }),
      ends: fc.boolean(),
      expires: fc.boolean(),
      resumes: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 3 }), async (rounds) => {
        await playRounds(api, rounds);
      }),
      { numRuns: tries(40) },
    );
  });
});

interface Round {
  readonly calls: readonly (readonly { name: string; args: object }[])[];
  readonly ends: boolean;
  readonly expires: boolean;
  readonly resumes: boolean;
}

/** Each round is a prompt; its code ends, or is left; a suspended run is resumed, or a new prompt comes first. */
async function playRounds(api: HostedApi, rounds: readonly Round[]): Promise<void> {
  const tools = openTools({ guarded: 'both' });
  let history: readonly OutputItem[] = [];
  const plan: Step[] = [];
  let expiresAt: string | undefined;
  const service = await startHostedService(api, plan, () => expiresAt ?? '2126-01-01T00:00:00Z');
  const common = { provider: providerOf(api, service), harness: tools.harness, agent: AGENT };
  for (const { calls, ends, expires, resumes } of rounds) {
    expiresAt = expires ? PAST() : undefined;
    const steps = calls.map((some, index): Step => ({ type: 'calls', calls: some, newCode: index === 0 }));
    // Code that lost its container cannot continue, so the plan of such a round is one step.
    plan.splice(0, plan.length, ...(expires ? steps.slice(0, 1) : steps));
    if (calls.length > 0 && ends && !expires) plan.push({ type: 'output', output: '1', text: 'Yes.' });
    let played = await collectRun(runAgent({ ...common, history, input: 'Go.' }), history);
    if (resumes) played = await decideAll(played, common);
    expect(service.faults).toEqual([]);
    expect(['completed', 'suspended']).toContain(played.response.status);
    history = played.history;
  }
}

async function decideAll(first: Played, common: Pick<ResumeAgentOptions, 'provider' | 'harness' | 'agent'>) {
  let played = first;
  while (played.response.status === 'suspended')
    played = await collectRun(
      resumeAgent({ ...common, history: played.history, ...suspensionOf(played) }),
      played.history,
    );
  return played;
}

describe('a container of a provider', () => {
  const guardedPlan = (): Step[] => [
    { type: 'calls', calls: [add(1), { name: 'guarded', args: {} }] },
    { type: 'text', text: 'I go on.' },
  ];

  test('goes back with every later request while it lives', async () => {
    const plan: Step[] = [
      { type: 'calls', calls: [add(1)] },
      { type: 'output', output: '3', text: 'Three.' },
    ];
    const { service, played, common } = await runPlan('anthropic-messages', plan);
    await collectRun(runAgent({ ...common, history: played.history, input: 'More.' }), played.history);
    expect(service.requests.map(({ container }) => container)).toEqual([undefined, 'container_1', 'container_2']);
  });

  test('that ended before the decision is reported once; the model reads the calls, and new code gets a new one', async () => {
    const tools = openTools({ guarded: 'both' });
    const { played, common, service } = await runPlan('anthropic-messages', guardedPlan(), { tools, expiresAt: PAST });
    const resumed = await collectRun(
      resumeAgent({ ...common, history: played.history, ...suspensionOf(played) }),
      played.history,
    );
    expect(service.faults).toEqual([]);
    expect(resumed.response.status).toBe('completed');
    expect(ofType(resumed.history, 'error')).toMatchObject([
      { code: 'HostedContainerExpired', message: expect.stringContaining('cannot be resumed') as unknown },
    ]);
    expect(ofType(resumed.history, 'hosted_code')).toMatchObject([{ lost: true }]);
    const asked = JSON.stringify(service.requests[1]);
    expect(service.requests[1]).not.toHaveProperty('container');
    expect(asked).toContain('Result: {\\"done\\":true}');
    expect(tools.calls).toEqual(['add {"a":1,"b":2}', 'guarded {}']);
  });

  test('that the service no longer has is one error, and the run continues without it', async () => {
    const { played, service } = await runPlan('anthropic-messages', [
      { type: 'calls', calls: [add(1)] },
      { type: 'refuse', status: 400, message: 'container_1: this container has expired.' },
      { type: 'text', text: 'I go on.' },
    ]);
    expect(played.response.status).toBe('completed');
    expect(ofType(played.history, 'error')).toMatchObject([
      { code: 'HostedContainerExpired', message: expect.stringContaining('this container has expired') as unknown },
    ]);
    expect(service.requests.map(({ container }) => container)).toEqual([undefined, 'container_1', undefined]);
    expect(service.faults).toEqual([]);
    expect(JSON.stringify(service.requests[2])).toContain('Result: {\\"sum\\":3}');
  });

  test('is not given up for other refusals, which fail the run', async () => {
    const { played } = await runPlan('anthropic-messages', [
      { type: 'calls', calls: [add(1)] },
      { type: 'refuse', status: 400, message: 'max_tokens is too large.' },
    ]);
    expect(played.response.status).toBe('failed');
    expect(ofType(played.history, 'hosted_code')).not.toMatchObject([{ lost: true }]);
  });
});

test('a provider that runs no code gets scripts as calls instead', async () => {
  const { harness } = openTools();
  const service = await startHostedService('openai-responses', [{ type: 'text', text: 'Hello.' }]);
  const { stream, ...provider } = providerOf('openai-responses', service);
  const without = { ...provider, stream, capabilities: { stopSequences: false, customTools: true } };
  await collectRun(runAgent({ provider: without, harness, agent: AGENT, input: 'Hello.' }));
  expect(toolOf(service.requests[0], 'run_script')).toBeDefined();
});

import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
  type Sampler,
} from '@opentelemetry/sdk-trace-base';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { describe, expect, it, onTestFinished } from 'vitest';
import { recoverRun, resumeRun, runAgent } from '#core/agent/index.js';
import { memoryStore } from '#core/index.js';
import { createProvider, startScriptedServer, type Scenario } from '#core/providers/index.js';
import type { StreamEvent } from '#core/protocol/index.js';
import { traceRun } from '#core/tracing/index.js';
import { openWorld } from '../agent/running.js';

const PARENT = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'rojo=1' };
const [, PARENT_TRACE, PARENT_SPAN] = PARENT.traceparent.split('-');

const USAGE = { input_tokens: 10, output_tokens: 3, cache_read_tokens: 4 };

/** A tracer of a real SDK, and the spans that it has exported. */
function openTracer(sampler?: Sampler) {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    ...(sampler === undefined ? {} : { sampler }),
  });
  onTestFinished(() => provider.shutdown());
  return { tracer: provider.getTracer('test'), spans: () => [...exporter.getFinishedSpans()] };
}

/** A model over HTTP, and the headers of its requests. */
async function openModel(turns: Scenario['turns']) {
  const server = await startScriptedServer({ turns });
  onTestFinished(() => server.close());
  const asked: Headers[] = [];
  const provider = createProvider('openai-responses', {
    model: 'model-1',
    baseUrl: server.baseUrl,
    apiKey: 'key-of-the-model',
    environment: {},
    fetch: (url, init) => {
      asked.push(new Headers(init.headers));
      return fetch(url, init);
    },
  });
  return { provider, asked };
}

async function collect(events: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const found: StreamEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

/** Each span under the name of its parent. */
function tree(spans: readonly ReadableSpan[]): string[] {
  const names = new Map(spans.map((span) => [span.spanContext().spanId, span.name]));
  return spans
    .map((span) => `${names.get(span.parentSpanContext?.spanId ?? '') ?? 'outside'} > ${span.name}`)
    .toSorted();
}

function named(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  return spans.find((span) => span.name === name)!;
}

const AGENT = { slug: 'helper', name: 'Helper', functions: 'all' as const };

const TURNS: Scenario['turns'] = [
  {
    parts: [
      { type: 'call', name: 'fail', arguments: {} },
      { type: 'script', code: "await tools.add({ a: 1, b: 2 });\nreturn tools.note({ text: 'a private text' });" },
    ],
    usage: USAGE,
  },
  { parts: [{ type: 'text', text: 'another private text' }], usage: USAGE },
];

describe('a traced run', () => {
  it('has a span for the run, each answer, each script and each call', async () => {
    const { tracer, spans } = openTracer();
    const { provider } = await openModel(TURNS);
    const { harness } = openWorld();
    const options = { provider, harness, agent: AGENT, input: 'a private question', threadId: 'thr_1', runId: 'run_1' };
    await collect(traceRun(runAgent, options, { tracer }));
    expect(tree(spans())).toEqual([
      'chat model-1 > execute_script',
      'chat model-1 > execute_tool fail',
      'execute_script > execute_tool add',
      'execute_script > execute_tool note',
      'invoke_agent Helper > chat model-1',
      'invoke_agent Helper > chat model-1',
      'outside > invoke_agent Helper',
    ]);
    expect(named(spans(), 'invoke_agent Helper')).toMatchObject({
      kind: SpanKind.INTERNAL,
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.provider.name': 'openai',
        'gen_ai.agent.id': 'helper',
        'gen_ai.agent.name': 'Helper',
        'gen_ai.request.model': 'model-1',
        'gen_ai.conversation.id': 'thr_1',
        'gen_ai.usage.input_tokens': 20,
        'toolscript.run.id': 'run_1',
        'toolscript.run.status': 'completed',
      },
    });
    expect(named(spans(), 'chat model-1')).toMatchObject({
      kind: SpanKind.CLIENT,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'model-1',
        'gen_ai.conversation.id': 'thr_1',
        'gen_ai.response.model': 'model-1',
        'gen_ai.response.id': expect.any(String) as string,
        'gen_ai.response.finish_reasons': ['completed'],
        'gen_ai.usage.input_tokens': 10,
        'gen_ai.usage.output_tokens': 3,
        'gen_ai.usage.cache_read.input_tokens': 4,
      },
    });
    expect(named(spans(), 'execute_script').attributes).toMatchObject({
      'gen_ai.operation.name': 'execute_script',
      'toolscript.script.language': 'ts',
      'toolscript.script.status': 'completed',
      'toolscript.script.tool_calls': 2,
    });
    expect(named(spans(), 'execute_tool fail')).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'ToolExecutionError', 'toolscript.tool.status': 'failed' },
    });
    expect(JSON.stringify(spans().map(({ name, attributes, events }) => [name, attributes, events]))).not.toContain(
      'private',
    );
  });

  it('is in the trace of the request that began it, and so are its requests to the model', async () => {
    const { tracer, spans } = openTracer();
    const { provider, asked } = await openModel([{ parts: [{ type: 'text', text: 'yes' }] }]);
    const { harness } = openWorld();
    const options = { provider, harness, agent: AGENT, input: 'hello' };
    const events = await collect(traceRun(runAgent, options, { tracer, parent: PARENT }));
    const [chat, run] = [named(spans(), 'chat model-1'), named(spans(), 'invoke_agent Helper')];
    expect(run.parentSpanContext).toMatchObject({ traceId: PARENT_TRACE, spanId: PARENT_SPAN, isRemote: true });
    expect(asked[0]!.get('traceparent')).toBe(`00-${PARENT_TRACE}-${chat.spanContext().spanId}-01`);
    expect(asked[0]!.get('tracestate')).toBe('rojo=1');
    expect(asked[0]!.get('authorization')).toBe('Bearer key-of-the-model');
    const own = { traceparent: `00-${PARENT_TRACE}-${run.spanContext().spanId}-01`, tracestate: 'rojo=1' };
    expect(new Set(events.map((event) => JSON.stringify(event.trace)))).toEqual(new Set([JSON.stringify(own)]));
  });

  it('links a resumed part to the part before it, in the same trace', async () => {
    const { tracer, spans } = openTracer();
    const code = "await tools.add({ a: 1, b: 2 });\nreturn tools.guarded({ text: 'it' });";
    const { provider } = await openModel([
      { parts: [{ type: 'script', code }] },
      { parts: [{ type: 'text', text: 'done' }] },
    ]);
    const { harness } = openWorld({
      store: memoryStore(),
      approvals: { rules: [{ action: 'ask' }], ask: () => 'suspend' },
    });
    const common = { provider, harness, agent: AGENT };
    const events = await collect(traceRun(runAgent, { ...common, input: 'go' }, { tracer }));
    const first = spans();
    expect(named(first, 'execute_script')).toMatchObject({
      attributes: { 'toolscript.script.status': 'suspended' },
      events: [{ name: 'approval_requested', attributes: { 'toolscript.approval.tool': 'guarded' } }],
    });
    const ids = events.flatMap(({ payload }) =>
      payload.type === 'approval_requested' ? [payload.approval.approval_id] : [],
    );
    const decisions = Object.fromEntries(ids.map((id) => [id, 'deny' as const]));
    await collect(traceRun(resumeRun, { ...common, events, decisions }, { tracer }));
    const second = spans().slice(first.length);
    const [before, after] = [named(first, 'invoke_agent Helper'), named(second, 'invoke_agent Helper')];
    expect(after.links.map(({ context }) => context.spanId)).toEqual([before.spanContext().spanId]);
    expect(new Set(spans().map((span) => span.spanContext().traceId)).size).toBe(1);
    expect(tree(second)).toEqual([
      'invoke_agent Helper > chat model-1',
      'invoke_agent Helper > execute_script',
      'outside > invoke_agent Helper',
    ]);
    expect(named(second, 'execute_script')).toMatchObject({
      attributes: { 'error.type': 'ApprovalDeniedError', 'toolscript.script.status': 'failed' },
      events: [{ name: 'approval_resolved', attributes: { 'toolscript.approval.decision': 'deny' } }],
    });
  });

  it('links a recovered part to the part whose process ended', async () => {
    const { tracer, spans } = openTracer();
    const { provider } = await openModel([
      { parts: [{ type: 'text', text: 'one' }] },
      { parts: [{ type: 'text', text: 'two' }] },
    ]);
    const { harness } = openWorld();
    const common = { provider, harness, agent: AGENT };
    const whole = await collect(traceRun(runAgent, { ...common, input: 'go' }, { tracer, parent: PARENT }));
    await collect(traceRun(recoverRun, { ...common, events: whole.slice(0, 3) }, { tracer, parent: PARENT }));
    const [before, after] = spans().filter(({ name }) => name === 'invoke_agent Helper');
    expect(after!.links.map(({ context }) => context.spanId)).toEqual([before!.spanContext().spanId]);
    expect(after!.parentSpanContext).toMatchObject({ traceId: PARENT_TRACE, spanId: PARENT_SPAN });
  });

  it('ends its spans if its reader leaves early', async () => {
    const { tracer, spans } = openTracer();
    const { provider } = await openModel([{ parts: [{ type: 'script', code: 'return tools.slow({ ms: 60000 });' }] }]);
    const { harness } = openWorld();
    for await (const { payload } of traceRun(runAgent, { provider, harness, agent: AGENT, input: 'go' }, { tracer }))
      if (payload.type === 'tool_call_start') break;
    expect(tree(spans())).toEqual([
      'chat model-1 > execute_script',
      'execute_script > execute_tool slow',
      'invoke_agent Helper > chat model-1',
      'outside > invoke_agent Helper',
    ]);
  });

  it('marks a failure of the model with its code', async () => {
    const { tracer, spans } = openTracer();
    const { provider } = await openModel([{ type: 'failure', status: 400, code: 'invalid_prompt' }]);
    const { harness } = openWorld();
    await collect(traceRun(runAgent, { provider, harness, agent: AGENT, input: 'go' }, { tracer }));
    for (const name of ['chat model-1', 'invoke_agent Helper'])
      expect(named(spans(), name)).toMatchObject({
        status: { code: SpanStatusCode.ERROR },
        attributes: { 'error.type': 'invalid_prompt' },
      });
  });

  it('makes the spans of a text’s scripts too', async () => {
    const { tracer, spans } = openTracer();
    const { harness } = openWorld();
    const text = '<tool-calls>return tools.add({ a: 1, b: 2 });</tool-calls>';
    await collect(traceRun(() => harness.processText(text), {}, { tracer }));
    expect(tree(spans())).toEqual([
      'execute_script > execute_tool add',
      'invoke_agent > execute_script',
      'outside > invoke_agent',
    ]);
  });
});

describe('a run that is not traced', () => {
  it('is the same without an SDK', async () => {
    const { provider, asked } = await openModel([{ parts: [{ type: 'text', text: 'yes' }] }]);
    const { harness } = openWorld();
    const events = await collect(traceRun(runAgent, { provider, harness, agent: AGENT, input: 'go' }));
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
    expect(events.filter((event) => 'trace' in event)).toEqual([]);
    expect(asked[0]!.has('traceparent')).toBe(false);
  });

  it('passes on the trace of its request without an SDK', async () => {
    const { provider, asked } = await openModel([{ parts: [{ type: 'text', text: 'yes' }] }]);
    const { harness } = openWorld();
    const options = { provider, harness, agent: AGENT, input: 'go' };
    const events = await collect(traceRun(runAgent, options, { parent: PARENT }));
    expect(events[0]!.trace).toEqual(PARENT);
    expect(asked[0]!.get('traceparent')).toBe(PARENT.traceparent);
  });

  it('exports nothing if the sampler drops it, and passes that on to the model', async () => {
    const { tracer, spans } = openTracer(new AlwaysOffSampler());
    const { provider, asked } = await openModel([{ parts: [{ type: 'text', text: 'yes' }] }]);
    const { harness } = openWorld();
    await collect(traceRun(runAgent, { provider, harness, agent: AGENT, input: 'go' }, { tracer }));
    expect(spans()).toEqual([]);
    expect(asked[0]!.get('traceparent')).toMatch(/-00$/u);
  });
});

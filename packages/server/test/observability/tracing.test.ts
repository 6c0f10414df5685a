import { trace } from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { readTraceContext } from '@toolscript/core/internal';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestServer, type TestServer } from '../support/test-server.js';
import { until } from '@toolscript/testkit/until';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const TRACEPARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`;

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
let server: TestServer;

beforeAll(async () => {
  trace.setGlobalTracerProvider(provider);
  server = await openTestServer();
});

afterAll(async () => {
  await server.close();
  trace.disable();
  await provider.shutdown();
});

function spansOf(runId: string) {
  const spans = exporter.getFinishedSpans();
  const parts = spans.filter(({ attributes }) => attributes['toolscript.run.id'] === runId);
  const traces = new Set(parts.map((span) => span.spanContext().traceId));
  return { parts, all: spans.filter((span) => traces.has(span.spanContext().traceId)) };
}

describe('a submitted run', () => {
  it('is in the trace that its request names, also after a resume', async () => {
    const headers = { traceparent: TRACEPARENT };
    const { runId } = (await server.call('POST', '/api/v2/submit', { prompt: 'please approve' }, headers)).body;
    const following = server.follow(runId);
    const { approvalId } = await until(async () => {
      const { body } = await server.call('GET', `/api/v2/approvals?runId=${runId}`);
      return body.data[0] as { approvalId: string } | undefined;
    });
    await server.call('POST', `/api/v2/approvals/${approvalId}`, 'approve');
    const events = await following;
    const { parts, all } = await until(async () => {
      const found = spansOf(runId);
      return found.parts.length === 2 ? found : undefined;
    });
    expect(parts.map((span) => span.spanContext().traceId)).toEqual([TRACE_ID, TRACE_ID]);
    expect(parts.map((span) => span.parentSpanContext?.spanId)).toEqual(['b7ad6b7169203331', 'b7ad6b7169203331']);
    expect(parts[1]!.links.map(({ context }) => context.spanId)).toEqual([parts[0]!.spanContext().spanId]);
    expect(new Set(all.map(({ name }) => name))).toEqual(
      new Set(['invoke_agent Demo', 'chat scripted', 'execute_script', 'execute_tool signGuestBook']),
    );
    const own = parts.map((span) => `00-${TRACE_ID}-${span.spanContext().spanId}-01`);
    expect([...new Set(events.map((event) => readTraceContext(event.trace)?.traceparent))]).toEqual(own);
  });

  it('is the same one if its request is repeated in another trace', async () => {
    const submit = (traceparent: string) =>
      server.call('POST', '/api/v2/submit', { prompt: 'once' }, { 'idempotency-key': 'key', traceparent });
    const first = await submit(TRACEPARENT);
    const second = await submit(TRACEPARENT.replace('b7ad', 'c7ad'));
    expect(second).toMatchObject({ status: 202, body: first.body });
    await server.follow(first.body.runId);
  });

  it('is in the trace of a request for a response too', async () => {
    const headers = { traceparent: TRACEPARENT };
    const { body } = await server.call('POST', '/v1/responses', { model: 'demo', input: 'hello' }, headers);
    expect(body.status).toBe('completed');
    const runId = (await server.stores.runs.list({})).runs.at(-1)!.runId;
    const { parts } = await until(async () => {
      const found = spansOf(runId);
      return found.parts.length === 1 ? found : undefined;
    });
    expect(parts[0]!.parentSpanContext).toMatchObject({ traceId: TRACE_ID, spanId: 'b7ad6b7169203331' });
  });

  it('begins its own trace if its request names none, or a malformed one', async () => {
    for (const headers of [{}, { traceparent: 'broken' }] as Record<string, string>[]) {
      const { runId } = (await server.call('POST', '/api/v2/submit', { prompt: 'hello' }, headers)).body;
      await server.follow(runId);
      const { parts } = await until(async () => {
        const found = spansOf(runId);
        return found.parts.length === 1 ? found : undefined;
      });
      expect(parts[0]!.parentSpanContext).toBeUndefined();
    }
  });
});

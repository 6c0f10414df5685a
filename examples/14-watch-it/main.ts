import { createClient } from '@toolscript/client';
import { openServer } from '../12-server/server.ts';
import { exporter } from './tracing.ts';

const token = 'a-token-of-your-own-choice';
const server = await openServer({ auth: { token } });
const baseUrl = await server.listen({ host: '127.0.0.1', port: 0 });

// The caller's place in its own trace. Where fetch is instrumented, it sends this by itself.
const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];

const tracedFetch: typeof fetch = (input, init) => {
  const request = new Request(input, init);
  request.headers.set('traceparent', `00-${traceId}-${spanId}-01`);
  return fetch(request);
};

const client = createClient({ baseUrl, token, fetch: tracedFetch });
const { runId } = await client.submit({ prompt: 'Invoice 7 was paid twice.' });
for await (const { payload } of client.stream(runId)) {
  if (payload.type !== 'response_done') continue;
  for (const approvalId of payload.approval_ids ?? []) await client.approvals.decide(approvalId, 'approve');
}

// The server counts the end of a run shortly after it has sent the run's last event.
let text = '';
while (!text.includes('toolscript_runs_ended_total{state="completed"} 1')) {
  const metrics = await fetch(`${baseUrl}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  text = await metrics.text();
}
await server.close();

const spans = exporter.getFinishedSpans();
showBelow(spanId);
const shown = /^toolscript_(?:runs_ended|scripts|approvals|tool_duration_seconds_count).*$/gm;
console.log(text.match(shown)?.join('\n'));

function showBelow(parentId: string, indent = ''): void {
  for (const span of spans.filter((one) => one.parentSpanContext?.spanId === parentId)) {
    const links = span.links.length === 0 ? '' : ', linked to the part before';
    console.log(`${indent}${span.name} (trace ${span.spanContext().traceId.slice(0, 8)}${links})`);
    showBelow(span.spanContext().spanId, `${indent}  `);
  }
}

import type { Approval, SubmittedRun, Thread } from '@toolscript/client';
import type { StreamEvent } from '@toolscript/core';
import { openServer } from './server.ts';

const token = 'a-token-of-your-own-choice';
const server = await openServer({ auth: { token } });
const url = await server.listen({ host: '127.0.0.1', port: 0 });

function send(path: string, body?: object): Promise<Response> {
  const authorization = `Bearer ${token}`;
  if (body === undefined) return fetch(`${url}/api/v2/${path}`, { headers: { authorization } });
  return fetch(`${url}/api/v2/${path}`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function api<Answer>(path: string, body?: object): Promise<Answer> {
  return (await (await send(path, body)).json()) as Answer;
}

/** The events of a run, from a stream of server-sent events. */
async function* eventsOf(runId: string): AsyncGenerator<StreamEvent> {
  const { body } = await send(`stream/${runId}`);
  if (body === null) return;
  let text = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const frames = (text + chunk).split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames) {
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (data !== undefined) yield JSON.parse(data) as StreamEvent;
    }
  }
}

const { runId, threadId } = await api<SubmittedRun>('submit', { prompt: 'Invoice 7 was paid twice.' });

for await (const { payload } of eventsOf(runId)) {
  if (payload.type === 'item_done' || payload.type === 'tool_call_done') console.log(payload.type);
  if (payload.type !== 'response_done') continue;
  console.log(payload.type, payload.status);
  for (const approvalId of payload.approval_ids ?? []) {
    console.log((await api<Approval>(`approvals/${approvalId}`)).rendered);
    await api(`approvals/${approvalId}`, { decision: 'approve', note: 'it was' });
  }
}

const { title, runs, items } = await api<Thread>(`threads/${threadId}`);
const last = items.at(-1);
console.log(`${title} ${runs[0]?.status}: ${last?.type === 'message' ? last.content : ''}`);
await server.close();

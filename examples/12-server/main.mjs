import { openServer } from './server.mjs';

const token = 'a-token-of-your-own-choice';
const server = await openServer({ auth: { token } });
const url = await server.listen({ host: '127.0.0.1', port: 0 });

async function api(path, body) {
  const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) };
  const response = await fetch(`${url}/api/v2/${path}`, {
    headers,
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  return path.startsWith('stream/') ? response : response.json();
}

const { runId, threadId } = await api('submit', { prompt: 'Invoice 7 was paid twice.' });

let text = '';
for await (const chunk of (await api(`stream/${runId}`)).body.pipeThrough(new TextDecoderStream())) {
  const frames = (text + chunk).split('\n\n');
  text = frames.pop();
  for (const frame of frames) {
    const { payload } = JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? '{"payload":{}}');
    if (payload.type === 'item_done' || payload.type === 'tool_call_done') console.log(payload.type);
    if (payload.type !== 'response_done') continue;
    console.log(payload.type, payload.status);
    for (const approvalId of payload.approval_ids ?? []) {
      console.log((await api(`approvals/${approvalId}`)).rendered);
      await api(`approvals/${approvalId}`, { decision: 'approve', note: 'it was' });
    }
  }
}

const { title, runs, items } = await api(`threads/${threadId}`);
console.log(`${title} ${runs[0].status}: ${items.at(-1).content}`);
await server.close();

// A hostile tenant, for tenants.mjs: `fork('hostile-tenant.mjs', [URL, LOADS])`. LOADS: `all`, names of LOADS, or `flood`:
// streams and bodies of 8 MB, most of them without a token. Sends a message when the load works. After a message, it
// sends the numbers of its answers by status, and ends.
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const [url, loads] = process.argv.slice(2);
const STREAMS = 900;
const MAX_PROMPT = 500_000;
/** Pauses after a refusal: the client shares its processors with the server. */
const AFTER_REFUSAL_MS = 20;

const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });
const statuses = {};

/** Resolves with the status after the answer was read. `body`: bytes. */
function ask(method, path, body, headers = { authorization: 'Bearer hostile' }) {
  return new Promise((resolve) => {
    const lengths = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length };
    const request = http.request(`${url}${path}`, { method, agent, headers: { ...headers, ...lengths } });
    let text = '';
    request.on('response', (response) => {
      response.on('data', (chunk) => (text = text.length < 10_000 ? text + chunk : text));
      response.on('close', () => resolve({ status: response.statusCode, text }));
    });
    request.on('error', () => resolve({ status: 0, text }));
    request.end(body);
  }).then((answer) => {
    const name = `${method} ${path.split('?')[0].replace(/thr_\w+/u, 'ID')} ${answer.status}`;
    statuses[name] = (statuses[name] ?? 0) + 1;
    return answer;
  });
}

const submit = (fields) => ask('POST', '/api/v2/submit', Buffer.from(JSON.stringify(fields)));

function stream() {
  return new Promise((resolve, reject) => {
    const headers = { authorization: 'Bearer hostile' };
    const request = http.request(`${url}/api/v2/changes`, { agent, headers });
    request.on('response', (response) => response.resume().once('data', resolve));
    request.on('error', reject);
    request.end();
  });
}

async function repeat(count, act) {
  await Promise.all(
    Array.from({ length: count }, async () => {
      for (;;) if ((await act()).status !== 200) await delay(AFTER_REFUSAL_MS);
    }),
  );
}

/** A thread of 8 MB. */
async function largeThread() {
  let threadId;
  let turnId;
  const prompt = `return 1\n${'x'.repeat(MAX_PROMPT - 20)}`;
  for (let turn = 0; turn < 16; turn += 1)
    ({ threadId, turnId } = JSON.parse(
      (await submit(threadId === undefined ? { prompt } : { prompt, threadId })).text,
    ));
  return { threadId, turnId };
}

/** 8 MB of brackets. */
const brackets = Buffer.alloc(8 * 1024 * 1024 - 1024, '[');

async function openStreams() {
  for (let opened = 0; opened < STREAMS; opened += 50) await Promise.all(Array.from({ length: 50 }, stream));
}

/** The loads of a tenant, by name. `thread` is a large one. */
const LOADS = {
  streams: openStreams,
  runs: () => void repeat(2, () => submit({ prompt: 'for (;;) {}' })),
  reads: ({ threadId }) => void repeat(4, () => ask('GET', `/api/v2/threads/${threadId}?operations=full`)),
  searches: () => void repeat(2, () => ask('GET', '/api/v2/threads?text=nowhere')),
  audit: () => void repeat(1, () => ask('GET', '/api/v2/audit?limit=100')),
  branches: ({ threadId, turnId }) =>
    void repeat(1, () => submit({ prompt: 'return 1', threadId, branchBefore: turnId })),
  bodies: () => void repeat(1, () => ask('POST', '/v1/responses', brackets)),
};

async function beTenant() {
  const thread = await largeThread();
  const named = loads === 'all' ? Object.keys(LOADS) : loads.split(',');
  for (const name of named) await LOADS[name](thread);
}

async function flood() {
  await openStreams();
  void repeat(2, () => ask('POST', '/unknown', brackets, {}));
  void repeat(2, () => ask('PUT', '/api/v2/submit', brackets, {}));
  void repeat(2, () => ask('POST', '/api/v2/submit', brackets, {}));
  void repeat(2, () => ask('POST', '/api/v2/submit', brackets));
}

await (loads === 'flood' ? flood() : beTenant());
await delay(2_000);
process.send('working');
process.once('message', () => process.send(statuses, () => process.exit()));
process.once('disconnect', () => process.exit());

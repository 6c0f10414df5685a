import { afterEach, expect, test } from 'vitest';
import { startScriptedServer, type ScriptedServer } from '#core/providers/index.js';

let server: ScriptedServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function post(path: string, body: string | Uint8Array<ArrayBuffer>): Promise<{ status: number; body: unknown }> {
  server ??= await startScriptedServer({ turns: [{ parts: [{ type: 'text', text: 'Hello.' }] }] });
  const response = await fetch(`${server.baseUrl}${path}`, { method: 'POST', body });
  return { status: response.status, body: await response.json() };
}

const TOO_LARGE = new Uint8Array(64 * 1024 * 1024 + 1);

test('a request body over the maximum is answered with 413, consumes no turn and is not stored', async () => {
  const message = 'The request body is larger than 67108864 bytes. Send less.';
  const reply = await post('/messages', TOO_LARGE);
  expect(reply).toMatchObject({ status: 413, body: { error: { message } } });
  expect(server).toMatchObject({ turnsLeft: 1, requests: [], violations: [message] });
});

test('a request to an unknown path is answered with the endpoints', async () => {
  const message =
    'There is no endpoint at /v1/complete. The endpoints are /v1/responses, /v1/chat/completions, /v1/messages.';
  expect(await post('/complete', '{}')).toMatchObject({ status: 404, body: { error: { message } } });
});

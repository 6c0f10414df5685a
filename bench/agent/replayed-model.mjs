import assert from 'node:assert/strict';
import { createProvider, startScriptedServer } from '@toolscript/core/providers';

/**
 * A model that costs nothing: the answers of a scripted server, recorded once and replayed from memory, event by
 * event, by the real provider of the wire format. The server judges every request of the first run; the later
 * measurements do not include this time.
 *
 * @param {string} api
 * @param {object} scenario
 * @param {(provider: object) => Promise<unknown>} play One run from the beginning to the end.
 * @returns {Promise<() => object>} Makes a provider for one more run of the same.
 */
export async function recordModel(api, scenario, play) {
  const answers = [];
  const server = await startScriptedServer(scenario);
  try {
    await play(
      providerOf(api, server.baseUrl, async (url, init) => {
        const response = await fetch(url, init);
        const text = await response.text();
        answers.push(text.split(/(?<=\n\n)/u).map((event) => Buffer.from(event)));
        return responseOf(answers.at(-1), response.headers);
      }),
    );
    assert.deepEqual(server.violations, []);
    assert.equal(server.turnsLeft, 0, 'the run ended early');
  } finally {
    await server.close();
  }
  return () => {
    let next = 0;
    return providerOf(api, 'http://replayed.invalid/v1', async () => responseOf(answers[next++]));
  };
}

function providerOf(api, baseUrl, fetch) {
  return createProvider(api, { model: 'bench', baseUrl, environment: {}, fetch });
}

function responseOf(events, headers = { 'content-type': 'text/event-stream' }) {
  let next = 0;
  const body = new ReadableStream(
    {
      pull(controller) {
        if (next === events.length) controller.close();
        else controller.enqueue(events[next++]);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers });
}

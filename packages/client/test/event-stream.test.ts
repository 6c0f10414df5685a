import { createClient, ProblemError, type Retry, type StreamOptions } from '@toolscript/client';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { framesOf, openEventServer } from './support/event-server.js';

type Answer = (response: ServerResponse, lastEventId: string | undefined) => void;

/** Streams a run from a server that gives these answers, one for each connection. */
async function streamFrom(answers: readonly Answer[], options: StreamOptions = {}) {
  const asked: (string | undefined)[] = [];
  const retries: Retry[] = [];
  const { url, close } = await openEventServer((request, response) => {
    const lastEventId = request.headers['last-event-id'] as string | undefined;
    asked.push(lastEventId);
    answers[Math.min(asked.length, answers.length) - 1]!(response, lastEventId);
  });
  const seqs: number[] = [];
  let error: unknown;
  try {
    const onRetry = (retry: Retry) => retries.push(retry);
    const client = createClient({ baseUrl: url, token: 'token-of-the-test' });
    for await (const { seq } of client.stream('run_1', { onRetry, ...options })) seqs.push(seq);
  } catch (thrown) {
    error = thrown;
  } finally {
    await close();
  }
  return { seqs, asked, retries, error };
}

function events(seqs: readonly number[], last: number): Answer {
  return (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(framesOf(seqs, last));
}

function problem(status: number, headers: Record<string, string> = {}): Answer {
  const body = JSON.stringify({ type: 'about:blank', title: 'No', status, detail: `no: ${status}` });
  return (response) => response.writeHead(status, { 'content-type': 'application/problem+json', ...headers }).end(body);
}

describe('a stream', () => {
  it('skips repeated events, and requests missing ones again', async () => {
    const answers = [events([0, 1, 1, 0, 2], 5), events([1, 2, 3, 5], 5), events([4, 5, 5], 5)];
    const { seqs, asked } = await streamFrom(answers);
    expect(seqs).toEqual([0, 1, 2, 3, 4, 5]);
    expect(asked).toEqual([undefined, '2', '3']);
  });

  it('stops at 204', async () => {
    const answers = [events([0, 1], 9), problem(204)];
    expect(await streamFrom(answers)).toMatchObject({ seqs: [0, 1], asked: [undefined, '1'], error: undefined });
  });

  it('retries after the delay that a busy server names', async () => {
    const { seqs, retries } = await streamFrom([problem(503, { 'retry-after': '1' }), events([0], 0)]);
    expect(seqs).toEqual([0]);
    expect(retries).toMatchObject([{ attempt: 1, delayMs: 1000, error: { status: 503, message: 'no: 503' } }]);
  });

  it.each([400, 401, 403, 404, 410])('fails at once with %i', async (status) => {
    const { error, asked } = await streamFrom([problem(status), events([0], 0)]);
    expect(error).toBeInstanceOf(ProblemError);
    expect((error as ProblemError).status).toBe(status);
    expect(asked).toHaveLength(1);
  });

  it('fails for a response that is not a stream, and names the setting to check', async () => {
    const page: Answer = (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>');
    const { error, asked } = await streamFrom([page]);
    expect((error as Error).message).toContain('Set baseUrl to the address of a Toolscript server');
    expect(asked).toHaveLength(1);
  });

  it('gives up after its retries, with the error of the last one', async () => {
    const broken: Answer = (response) => response.destroy();
    const { error, retries } = await streamFrom([events([0], 9), broken], { maxRetries: 2 });
    expect(error).toBeInstanceOf(TypeError);
    expect(retries.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  it('resets its retries when data has arrived', async () => {
    const steps = Array.from({ length: 5 }, (_, seq) => events([seq], 5));
    const { seqs, retries } = await streamFrom([...steps, events([5], 5)], { maxRetries: 1 });
    expect(seqs).toEqual([0, 1, 2, 3, 4, 5]);
    expect(retries.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1]);
  });

  it('closes a connection without data', async () => {
    const silentBehindTheFirst: Answer = (response, lastEventId) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (lastEventId === undefined) response.write(framesOf([0], 1));
      else response.end(framesOf([1], 1));
    };
    const { seqs, retries } = await streamFrom([silentBehindTheFirst], { maxSilenceMs: 200 });
    expect(seqs).toEqual([0, 1]);
    expect(retries.at(-1)!.error).toMatchObject({
      message: 'The server has sent nothing for 200 ms. Check the network and the server.',
    });
  });

  it('reads an event that was truncated by a lost connection from the next one', async () => {
    const cut: Answer = (response) =>
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(framesOf([0, 1], 1).slice(0, -1));
    expect((await streamFrom([cut, events([1], 1)])).seqs).toEqual([0, 1]);
  });
});

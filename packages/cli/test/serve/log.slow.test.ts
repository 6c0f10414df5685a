import { afterAll, expect, it } from 'vitest';
import { Place } from '../support/place.js';
import { serve, type Served } from './support/served.js';

const place = new Place();
const servers: Served[] = [];

afterAll(async () => {
  for (const server of servers) await server.end();
});

async function started(args: readonly string[], env = place.env): Promise<Served> {
  const server = await serve(args, { env });
  servers.push(server);
  return server;
}

it('logs runs and requests to stderr, as JSON and without the keys of the environment', async () => {
  const server = await started(['--log-level', 'info', '--log-requests'], {
    ...place.env,
    SOME_API_KEY: 'canary-of-the-environment',
  });
  const { runId } = await server.api('submit', { prompt: 'hello' });
  await server.follow(runId);
  await server.api('runs/canary-of-the-environment');
  await server.end();
  const lines = server
    .printed()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'run started', runId, agent: 'demo' }));
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'request', route: '/api/v2/submit', status: 202 }));
  expect(lines).toContainEqual(expect.objectContaining({ route: '/api/v2/runs/:runId', runId: '[redacted]' }));
  expect(server.printed()).not.toContain('canary');
});

it('logs nothing about a successful run by default', async () => {
  const server = await started([]);
  const { runId } = await server.api('submit', { prompt: 'hello' });
  await server.follow(runId);
  await server.end();
  expect(server.printed()).not.toContain('{');
});

it('rejects an unknown level', async () => {
  await expect(started(['--log-level', 'loud'])).rejects.toThrow(
    '--log-level is "loud". Use one of trace, debug, info, warn, error, fatal, silent.',
  );
});

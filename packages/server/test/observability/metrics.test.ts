import { createHarness, defineTool } from '@toolscript/core';
import { QuickJsPool } from '@toolscript/core/internal';
import { defineAgent } from '@toolscript/core/agent';
import { scriptedModel, type Scenario } from '@toolscript/core/providers';
import type { Caller, Scope, ServedAgent } from '@toolscript/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openTestServer, TOKEN, type TestServer } from '../support/test-server.js';
import { until } from '@toolscript/testkit/until';

const SECRET = 'private-words';

const greet = defineTool({
  name: 'greet',
  description: 'Greets',
  input: z.object({ name: z.string() }),
  output: z.object({ said: z.string() }),
  effect: 'read',
  approval: 'never',
  execute: ({ name }) => ({ said: name }),
});

/** An agent whose model runs this script, and writes nothing more. */
function scriptAgent(slug: string, code: string, runtime: QuickJsPool) {
  const harness = createHarness({ tools: [greet], runtime, typecheck: 'off' });
  const turns: Scenario['turns'] = [
    { parts: [{ type: 'script', code }], usage: { input_tokens: 7, output_tokens: 5 } },
    { parts: [{ type: 'text', text: SECRET }], usage: { input_tokens: 7, output_tokens: 5 } },
  ];
  const agent = defineAgent({ slug, provider: { api: 'openai-responses', model: 'scripted' } });
  const served: ServedAgent = {
    config: agent,
    capability: harness.capability,
    open: async () => ({ agent, provider: scriptedModel({ turns }), harness }),
  };
  return served;
}

const runtime = new QuickJsPool({ size: 1 });
let server: TestServer;

beforeAll(async () => {
  server = await openTestServer({
    sandbox: runtime,
    agents: () => [
      scriptAgent('greeter', `return tools.greet({ name: '${SECRET}' });`, runtime),
      scriptAgent('stranger', `return tools['${SECRET}']({});`, runtime),
    ],
  });
});

afterAll(async () => {
  await server.close();
  await runtime.close();
});

async function metrics(): Promise<Map<string, number>> {
  const response = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/u);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

/** The growth of each figure. */
async function growth(work: () => Promise<unknown>): Promise<Map<string, number>> {
  const before = await metrics();
  await work();
  const after = await metrics();
  return new Map([...after].map(([name, value]) => [name, value - (before.get(name) ?? 0)]));
}

async function run(prompt: string, agentId = 'demo'): Promise<string> {
  const { body } = await server.call('POST', '/api/v2/submit', { prompt, agentId });
  await server.follow(body.runId);
  return body.runId as string;
}

describe('the metrics', () => {
  it('count runs, scripts, calls and tokens', async () => {
    const grown = await growth(() => run('hello', 'greeter'));
    expect(Object.fromEntries(grown)).toMatchObject({
      'toolscript_runs_claimed_total{reason="new"}': 1,
      'toolscript_runs_ended_total{state="completed"}': 1,
      'toolscript_scripts_total{outcome="completed",error=""}': 1,
      'toolscript_script_duration_seconds_count{outcome="completed"}': 1,
      'toolscript_tool_duration_seconds_count{tool="greet",status="completed"}': 1,
      'toolscript_model_tokens_total{type="input"}': 14,
      'toolscript_model_tokens_total{type="output"}': 10,
      toolscript_sandbox_scripts_completed_total: 1,
      'toolscript_http_request_duration_seconds_count{method="POST",route="/api/v2/submit",status="202"}': 1,
      'toolscript_http_request_duration_seconds_count{method="GET",route="/api/v2/stream/:runId",status="200"}': 1,
    });
    expect(grown.get('toolscript_event_write_seconds_count{store="log"}')).toBeGreaterThan(0);
    expect(grown.get('toolscript_event_write_seconds_count{store="threads"}')).toBeGreaterThan(0);
  });

  it('start at 0, so that Prometheus sees the first run that was interrupted or could not be written', async () => {
    const idle = await openTestServer({ workers: 0 });
    const response = await fetch(`${idle.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
    const text = await response.text();
    await idle.close();
    for (const sample of [
      'toolscript_runs_claimed_total{reason="interrupted"} 0',
      'toolscript_runs_left_total{cause="write-failed"} 0',
      'toolscript_runs_ended_total{state="failed"} 0',
      'toolscript_stream_clients_dropped_total 0',
    ])
      expect(text.split('\n')).toContain(sample);
  });

  it('contain no name that a model invented, and no text of users or models', async () => {
    const grown = await growth(() => run(SECRET, 'stranger'));
    expect(grown.get('toolscript_runs_ended_total{state="completed"}')).toBe(1);
    expect(grown.get('toolscript_scripts_total{outcome="failed",error="ToolNotFoundError"}')).toBe(1);
    expect([...grown.keys()].join('\n')).not.toContain(SECRET);
    expect([...grown.keys()].some((name) => name.includes('greet'))).toBe(true);
  });

  it('report pending approvals, and the time until a decision', async () => {
    const { body } = await server.call('POST', '/api/v2/submit', { prompt: 'please approve', agentId: 'demo' });
    const approval = await until(async () => {
      const { body: page } = await server.call('GET', `/api/v2/approvals?runId=${body.runId}`);
      return page.data[0] as { approvalId: string } | undefined;
    });
    const waiting = await metrics();
    expect(waiting.get('toolscript_runs{state="suspended"}')).toBe(1);
    expect(waiting.get('toolscript_approvals_pending')).toBe(1);
    expect(waiting.get('toolscript_scripts_total{outcome="suspended",error=""}')).toBe(1);
    const grown = await growth(async () => {
      await server.call('POST', `/api/v2/approvals/${approval.approvalId}`, 'approve');
      await server.follow(body.runId);
    });
    expect(Object.fromEntries(grown)).toMatchObject({
      'toolscript_runs{state="suspended"}': -1,
      toolscript_approvals_pending: -1,
      'toolscript_approvals_total{decision="approve",by="person"}': 1,
      'toolscript_approval_wait_seconds_count{decision="approve"}': 1,
      'toolscript_runs_claimed_total{reason="resumed"}': 1,
    });
  });

  it('report the current runs, streams, queue and process', async () => {
    const { body } = await server.call('POST', '/api/v2/submit', { prompt: 'slow 300', agentId: 'demo' });
    const stop = new AbortController();
    await fetch(`${server.url}/api/v2/stream/${body.runId}`, {
      headers: { authorization: `Bearer ${TOKEN}` },
      signal: stop.signal,
    });
    const now = await until(async () => {
      const found = await metrics();
      // The scrape may have counted the queue before the worker claimed the run.
      const isClaimed = found.get('toolscript_worker_runs') === 1 && found.get('toolscript_runs{state="queued"}') === 0;
      return isClaimed ? found : undefined;
    });
    expect(Object.fromEntries(now)).toMatchObject({
      'toolscript_runs{state="running"}': 1,
      'toolscript_runs{state="queued"}': 0,
      toolscript_run_queue_age_seconds: 0,
      toolscript_worker_slots: 8,
      toolscript_stream_clients: 1,
      toolscript_stream_clients_dropped_total: 0,
      toolscript_sandbox_scripts_queued: 0,
      toolscript_store_up: 1,
    });
    for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes', 'process_start_time_seconds'])
      expect(now.get(name)).toBeGreaterThan(0);
    stop.abort();
    await server.call('POST', `/api/v2/runs/${body.runId}/cancel`);
    await server.follow(body.runId);
    const after = await metrics();
    expect(after.get('toolscript_runs_ended_total{state="cancelled"}')).toBe(1);
    expect(after.get('toolscript_stream_clients')).toBe(0);
  });

  it('need a token with the scope read', async () => {
    expect((await fetch(`${server.url}/metrics`)).status).toBe(401);
    const authenticate = (token: string): Caller => ({ principal: 'prometheus', scopes: [token as Scope] });
    const other = await openTestServer({ auth: { token: TOKEN, authenticate }, workers: 0 });
    const statuses = ['read', 'admin', 'run', 'approve'].map(async (scope) => {
      const headers = { authorization: `Bearer ${scope}` };
      return (await fetch(`${other.url}/metrics`, { headers })).status;
    });
    expect(await Promise.all(statuses)).toEqual([200, 200, 403, 403]);
    await other.close();
  });

  it('are available even while the stores do not answer', async () => {
    const failing = await openTestServer();
    const list = async () => {
      throw new Error('no database');
    };
    Object.assign(failing.stores.runs, { list });
    const response = await fetch(`${failing.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
    expect(response.status).toBe(200);
    expect(await response.text()).toMatch(/^toolscript_store_up 0$/mu);
    await failing.close();
  });
});

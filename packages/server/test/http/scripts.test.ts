import { once } from 'node:events';
import { createHarness, defineTool, memoryStore, type Harness, type RunScriptOptions } from '@toolscript/core';
import { defineAgent } from '@toolscript/core/agent';
import { scriptedModel } from '@toolscript/core/providers';
import type { Caller, ServedAgent } from '@toolscript/server';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { until } from '@toolscript/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { OutcomeSchema } from '#server/http/schemas.js';
import {
  openTestServer,
  SUSPENSION_KEY,
  TOKEN,
  type TestServer,
  type TestServerOptions,
} from '../support/test-server.js';

const SCOPES = { ada: ['read', 'run'], reader: ['read'], bob: ['read', 'run'], admin: ['admin'] } as const;
const authenticate = (token: string): Caller | undefined => {
  const scopes = SCOPES[token as keyof typeof SCOPES];
  return scopes && { principal: token === 'reader' ? 'ada' : token, scopes };
};

const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** A server, and a harness of another process over the same scripts: `hold` runs until `release` is called. */
async function open(options: TestServerOptions = {}) {
  const scripts = memoryStore();
  const effects: string[] = [];
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const tool = (name: string, approval: 'never' | 'always', execute: () => Promise<void> = async () => {}) =>
    defineTool({
      name,
      description: name,
      effect: 'write',
      approval,
      input: z.object({}),
      execute: async () => {
        effects.push(name);
        await execute();
        return name;
      },
    });
  const tools = [tool('hold', 'never', () => released), tool('mark', 'never'), tool('note', 'always')];
  const parts = { ...sharedThreads(), store: scripts, suspensionKey: SUSPENSION_KEY };
  const harness = createHarness({ ...parts, tools, typecheck: 'off' });
  const server = await openTestServer({
    auth: { token: TOKEN, authenticate },
    workers: 0,
    scripts,
    drainMs: 0,
    ...options,
  });
  closers.push(async () => {
    release();
    await server.close();
    await harness.close();
  });
  return { server, harness, effects, release: () => release() };
}

/** A script of `ada` that makes its first call now. */
async function held({ harness, effects }: Awaited<ReturnType<typeof open>>, rest = 'return 6 * 7') {
  const { scriptId } = await yielded(harness, `await tools.hold({}); ${rest}`);
  await until(() => effects.length > 0);
  return scriptId;
}

async function yielded(harness: Harness, source: string, options: RunScriptOptions = {}) {
  const outcome = await harness.runScript(source, { principal: 'ada', yieldAfterMs: 0, ...options });
  expect(outcome.status).toBe('running');
  return outcome;
}

function servedAgent(harness: Harness): ServedAgent {
  const agent = defineAgent({ slug: 'any' });
  return {
    config: agent,
    capability: harness.capability,
    open: async () => ({ agent, provider: scriptedModel({ turns: [] }), harness }),
  };
}

const ask = (server: TestServer, method: string, path: string, token = 'ada', signal?: AbortSignal) =>
  fetch(`${server.url}/api/v2/scripts/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(signal === undefined ? {} : { signal }),
  });

async function answer(...asked: Parameters<typeof ask>) {
  const response = await ask(...asked);
  const body = (await response.json()) as Record<string, unknown>;
  if (response.ok) expect(OutcomeSchema.strict().parse(body)).toEqual(body);
  return { status: response.status, body };
}

describe('a wait for a script', () => {
  it('answers running at once by default and after waitMs, and then the end, also later', async () => {
    const world = await open();
    const scriptId = await held(world);
    for (const query of ['', '?waitMs=1'])
      expect(await answer(world.server, 'GET', scriptId + query)).toMatchObject({
        status: 200,
        body: { status: 'running', scriptId, operations: [{ tool: 'hold', status: 'unknown' }] },
      });
    const waiting = answer(world.server, 'GET', `${scriptId}?waitMs=30000`);
    world.release();
    const end = await waiting;
    expect(end).toMatchObject({ status: 200, body: { status: 'completed', value: 42 } });
    expect(await answer(world.server, 'GET', scriptId, 'reader')).toEqual(end);
  });

  it('answers suspended without the sealed memory, and the failure of a script', async () => {
    const { server, harness, release } = await open();
    const waiting = await harness.runScript('await tools.note({})', { principal: 'ada' });
    const { status, body } = await answer(server, 'GET', `${waiting.scriptId}?waitMs=30000`);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { status: 'suspended', pendingApprovals: [{ tool: 'note' }] },
    });
    expect(waiting.suspension).toBeDefined();
    expect(body).not.toHaveProperty('suspension');
    const { scriptId } = await yielded(harness, 'await tools.hold({}); throw new Error("wrong")');
    const failing = answer(server, 'GET', `${scriptId}?waitMs=30000`);
    release();
    expect((await failing).body).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('wrong') },
    });
  });

  it('is refused with 400 for a wrong waitMs or id, and with 404 for an unknown id', async () => {
    const { server } = await open();
    for (const waitMs of ['-1', '1.5', '30001', 'long', 'Infinity'])
      expect(await answer(server, 'GET', `scr_none?waitMs=${waitMs}`)).toMatchObject({
        status: 400,
        body: { errors: [{ pointer: '/waitMs' }] },
      });
    for (const [id, status] of [
      ['scr.none', 400],
      ['x'.repeat(129), 400],
      ['scr_none', 404],
      ['none', 404],
    ] as const)
      for (const [method, path] of [
        ['GET', id],
        ['POST', `${id}/cancel`],
      ] as const)
        expect(await answer(server, method, path)).toMatchObject({ status, body: { status } });
  });

  it('counts as a stream of its principal, and ends when its client goes away', async () => {
    const signals: AbortSignal[] = [];
    const waitScript = async (_id: string, { signal }: { signal: AbortSignal }) => {
      signals.push(signal);
      await once(signal, 'abort');
      return { status: 'running' };
    };
    const onlyAgents = [servedAgent({ waitScript } as never)];
    const { server } = await open({ onlyAgents, limits: { streamsPerPrincipal: 1 } });
    const [one, others] = [new AbortController(), new AbortController()];
    const wait = (token: string, { signal }: AbortController) =>
      ask(server, 'GET', 'scr_any?waitMs=30000', token, signal).catch(() => 'gone');
    const first = wait('ada', one);
    await until(() => signals.length === 1);
    expect((await ask(server, 'GET', 'scr_any')).status).toBe(429);
    const bobs = wait('bob', others);
    await until(() => signals.length === 2);
    one.abort();
    await until(() => signals[0]!.aborted);
    const second = wait('ada', others);
    await until(() => signals.length === 3);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false, false]);
    others.abort();
    expect(await Promise.all([first, bobs, second])).toEqual(['gone', 'gone', 'gone']);
    await until(() => signals.every(({ aborted }) => aborted));
  });
});

describe('a cancellation of a script', () => {
  it('ends a script that makes calls, needs the scope run, and has one end and an entry in the audit log', async () => {
    const world = await open();
    const { server, harness, effects, release } = world;
    const scriptId = await held(world, 'await tools.mark({})');
    expect((await answer(server, 'POST', `${scriptId}/cancel`, 'reader')).status).toBe(403);
    const ends = [await answer(server, 'POST', `${scriptId}/cancel`)];
    ends.push(await answer(server, 'POST', `${scriptId}/cancel`), await answer(server, 'GET', scriptId));
    expect(ends[0]).toMatchObject({
      status: 200,
      body: { status: 'failed', error: { code: 'ScriptCancelledError' }, operations: [{ tool: 'hold' }] },
    });
    expect(ends).toEqual([ends[0], ends[0], ends[0]]);
    release();
    expect((await harness.waitScript(scriptId, { principal: 'ada' })).error?.code).toBe('ScriptCancelledError');
    expect(effects).toEqual(['hold']);
    const { body } = await server.call('GET', `/api/v2/audit?scriptId=${scriptId}`);
    const entry = { type: 'script_cancelled', scriptId, principal: 'ada', actor: { principal: 'ada' } };
    expect(body.data).toMatchObject([entry, entry]);
  });

  it('leaves a script as it is after its end', async () => {
    const world = await open();
    const scriptId = await held(world);
    world.release();
    const end = await answer(world.server, 'GET', `${scriptId}?waitMs=30000`);
    expect(end.body).toMatchObject({ status: 'completed', value: 42 });
    expect(await answer(world.server, 'POST', `${scriptId}/cancel`)).toEqual(end);
  });
});

describe('a script of another principal', () => {
  it('is not found, also for administrators and the user of this machine, and continues', async () => {
    const world = await open();
    const scriptId = await held(world);
    for (const token of ['bob', 'admin', TOKEN])
      for (const [method, path] of [
        ['GET', scriptId],
        ['POST', `${scriptId}/cancel`],
      ] as const)
        expect(await answer(world.server, method, path, token)).toMatchObject({ status: 404 });
    world.release();
    expect((await answer(world.server, 'GET', `${scriptId}?waitMs=30000`)).body).toMatchObject({ value: 42 });
    const own = await yielded(world.harness, 'await tools.hold({}); return 1', { principal: undefined });
    expect((await answer(world.server, 'GET', `${own.scriptId}?waitMs=30000`, TOKEN)).body).toMatchObject({ value: 1 });
    expect((await answer(world.server, 'GET', own.scriptId)).status).toBe(404);
  });
});

describe('a server that cannot read scripts', () => {
  it('answers 503 while no agent works and while the store fails', async () => {
    const store = memoryStore();
    const journal = { ...store.journal, read: () => Promise.reject(new Error('broken')) };
    const harness = createHarness({ ...sharedThreads(), store: { ...store, journal }, tools: [] });
    closers.push(() => harness.close());
    for (const agent of [{ ...servedAgent(harness), problem: 'It has no key.' }, servedAgent(harness)]) {
      const { server } = await open({ onlyAgents: [agent] });
      for (const [method, path] of [
        ['GET', 'scr_any'],
        ['POST', 'scr_any/cancel'],
      ] as const)
        expect(await answer(server, method, path)).toMatchObject({ status: 503, body: { status: 503 } });
    }
  });
});

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileStore } from '@toolscript/core';
import { newFolder } from '@toolscript/testkit/folder';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { until } from '@toolscript/testkit/until';
import { expect, it } from 'vitest';
import { effectsIn, oneScriptAgent } from '../support/one-script-agent.js';
import { openTestServer, TOKEN, type TestServer } from '../support/test-server.js';

const KEYS = { old: new Uint8Array(32).fill(1), new: new Uint8Array(32).fill(2) };

interface Release {
  readonly agents: readonly string[];
  /** The first one seals. */
  readonly keys: readonly Uint8Array[];
  /** The versions of the bridge that the release knows. The last one is that of its scripts. */
  readonly bridges: readonly number[];
}

const OLD: Release = { agents: ['coder', 'writer'], keys: [KEYS.old], bridges: [3] };
const NEW: Release = { agents: ['coder', 'painter'], keys: [KEYS.new], bridges: [4] };
const BOTH: Release = { agents: ['coder', 'writer', 'painter'], keys: [KEYS.new, KEYS.old], bridges: [3, 4] };

/** Servers of several releases on one folder. */
class Deployment {
  readonly folder = newFolder();
  readonly effects = join(this.folder, 'effects');
  readonly #servers = new Set<{ readonly server: TestServer; close(): Promise<void> }>();

  async start({ agents, keys, bridges }: Release) {
    const { runtime, compiler } = sharedThreads();
    const bridge = { version: bridges.at(-1)!, known: bridges };
    const parts = { runtime: { ...runtime, bridge }, compiler, suspensionKey: keys };
    const scripts = fileStore(join(this.folder, 'scripts'));
    const served = agents.map((slug) => oneScriptAgent({ ...parts, slug, store: scripts }, this.effects));
    const server = await openTestServer({ folder: this.folder, scripts, onlyAgents: served });
    const started = {
      server,
      close: async () => {
        this.#servers.delete(started);
        await server.close({ keepsData: true });
        for (const agent of served) await agent.close();
      },
    };
    this.#servers.add(started);
    return started;
  }

  async end(): Promise<void> {
    for (const started of this.#servers) await started.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function submit({ call }: TestServer, agentId: string, tag: string): Promise<string> {
  const prompt = `return (await tools.note({ tag: '${tag}' })).tag;`;
  const { status, body } = await call('POST', '/api/v2/submit', { agentId, prompt });
  expect(status).toBe(202);
  return body.runId as string;
}

async function untilAll(server: TestServer, runIds: readonly string[], status: string): Promise<void> {
  await until(async () => {
    const runs = await Promise.all(runIds.map(async (runId) => server.stores.runs.get(runId)));
    expect(runs.filter((run) => run?.state === 'failed')).toEqual([]);
    return runs.every((run) => run?.state === status);
  });
}

async function approveAll({ call }: TestServer): Promise<void> {
  const { body } = await call('GET', '/api/v2/approvals?state=pending&limit=100');
  for (const { approvalId } of body.data)
    expect((await call('POST', `/api/v2/approvals/${approvalId}`, { decision: 'approve' })).status).toBe(200);
}

const stuck = async ({ call }: TestServer) => (await call('GET', '/api/v2/stuck-runs')).body.data;
const warnings = async ({ call }: TestServer) => (await call('GET', '/readyz')).body.warnings;

async function metric({ url }: TestServer): Promise<string | undefined> {
  const text = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })).text();
  return /^toolscript_runs_stuck\{reason="unopened"\} (.+)$/mu.exec(text)?.[1];
}

it('workers of two keys, agents and bridges share a store: each run continues with one that opens it', async () => {
  const deployment = new Deployment();
  try {
    const before = await deployment.start(OLD);
    const old = [];
    for (const agent of ['coder', 'writer', 'coder']) old.push(await submit(before.server, agent, `old${old.length}`));
    await untilAll(before.server, old, 'suspended');
    await before.close();

    const after = await deployment.start(NEW);
    const own = [];
    for (const agent of ['coder', 'painter', 'coder']) own.push(await submit(after.server, agent, `new${own.length}`));
    await untilAll(after.server, own, 'suspended');
    await approveAll(after.server);
    await untilAll(after.server, own, 'completed');

    // Nobody opens the older runs: they wait, and are listed with the reason.
    await untilAll(after.server, old, 'queued');
    const waiting = await stuck(after.server);
    expect(waiting.map(({ runId }: { runId: string }) => runId)).toEqual(old);
    expect(waiting[0].stuck).toMatch(
      /^No worker has the version of the bridge 3 and the suspension key [0-9a-f]{16}\. The run continues by itself/u,
    );
    expect(waiting[1].stuck).toMatch(/^No worker has the agent writer, the version of the bridge 3 and /u);
    expect(await warnings(after.server)).toEqual([
      'Runs that no running worker can open: 3. To list them: toolscript admin run list',
    ]);
    expect(await metric(after.server)).toBe('3');

    // A worker that opens them starts, and the other one keeps working.
    const again = await deployment.start(OLD);
    await untilAll(again.server, old, 'completed');
    expect([await stuck(after.server), await warnings(after.server), await metric(after.server)]).toEqual([
      [],
      [],
      '0',
    ]);

    // Both work side by side, each on its own runs.
    const mixed = [];
    for (let turn = 0; turn < 4; turn += 1)
      mixed.push(
        await submit(again.server, turn % 2 === 0 ? 'writer' : 'coder', `mixed${mixed.length}`),
        await submit(after.server, turn % 2 === 0 ? 'painter' : 'coder', `mixed${mixed.length + 1}`),
      );
    await untilAll(after.server, mixed, 'suspended');
    await approveAll(again.server);
    await untilAll(after.server, mixed, 'completed');
    const tags = effectsIn(deployment.effects);
    expect([tags.length, new Set(tags).size]).toEqual([14, 14]);
  } finally {
    await deployment.end();
  }
});

it('a release with both keys and both bridges continues all runs; a cancelled run ends anywhere', async () => {
  const deployment = new Deployment();
  try {
    const before = await deployment.start(OLD);
    const [kept, cancelled] = [
      await submit(before.server, 'coder', 'kept'),
      await submit(before.server, 'coder', 'no'),
    ];
    await untilAll(before.server, [kept, cancelled], 'suspended');
    await before.close();

    const without = await deployment.start(NEW);
    await without.server.call('POST', `/api/v2/runs/${cancelled}/cancel`);
    await untilAll(without.server, [cancelled], 'cancelled');
    expect((await without.server.follow(cancelled)).at(-1)?.payload).toMatchObject({
      type: 'response_done',
      status: 'cancelled',
    });
    await approveAll(without.server);
    await without.close();

    const both = await deployment.start(BOTH);
    await untilAll(both.server, [kept], 'completed');
    expect(effectsIn(deployment.effects)).toEqual(['kept']);
    const { needs } = (await both.server.stores.runs.get(kept))!;
    expect(needs.map((need) => need.split(':')[0])).toEqual(['agent', 'bridge', 'bridge', 'key', 'key']);
  } finally {
    await deployment.end();
  }
});

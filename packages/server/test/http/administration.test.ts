import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Caller } from '@toolscript/server';
import { KeyFolder, type RememberedRule } from '@toolscript/server/access';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestServer, TOKEN, type TestServer } from '../support/test-server.js';
import { until } from '@toolscript/testkit/until';

const USER: Caller = { principal: 'ada', scopes: ['read', 'run', 'approve'] };

const remembered: RememberedRule[] = [
  { ruleId: 'r1', covers: 'exec: npm test', rememberedAt: 5 },
  { ruleId: 'r2', covers: 'writeFile in src', rememberedAt: 6 },
];

let server: TestServer;

beforeAll(async () => {
  server = await openTestServer({
    auth: {
      token: TOKEN,
      keys: new KeyFolder(mkdtempSync(join(tmpdir(), 'toolscript-keys-'))),
      authenticate: (token) => (token === 'user' ? USER : undefined),
    },
    rules: {
      list: async () => remembered,
      suggest: ({ name }, { inputJson }) => {
        const add = async () => {
          remembered.push({ ruleId: 'added', covers: `${name} ${inputJson}`, rememberedAt: 7 });
        };
        return name === 'signGuestBook' ? { covers: 'every signature', add } : undefined;
      },
      delete: async (ruleId) => {
        const index = remembered.findIndex((rule) => rule.ruleId === ruleId);
        if (index !== -1) remembered.splice(index, 1);
        return index !== -1;
      },
    },
  });
});

afterAll(() => server.close());

const as = (token: string) => ({ authorization: `Bearer ${token}` });

describe('an API key made over HTTP', () => {
  it('works until it is revoked, is listed without its token, and both changes are in the audit log', async () => {
    const draft = { name: 'ci', scopes: ['run', 'read'], principal: 'bob' };
    const { status, body: key } = await server.call('POST', '/api/v2/keys', draft);
    expect(status).toBe(201);
    expect(key).toMatchObject({ name: 'ci', principal: 'bob', scopes: ['read', 'run'], isActive: true });
    expect((await server.call('GET', '/api/v2/threads', undefined, as(key.token))).status).toBe(200);
    const { token: _token, ...listed } = key;
    expect((await server.call('GET', '/api/v2/keys')).body.data).toEqual([listed]);
    expect((await server.call('DELETE', `/api/v2/keys/${key.keyId}`)).status).toBe(204);
    expect((await server.call('GET', '/api/v2/threads', undefined, as(key.token))).status).toBe(401);
    expect((await server.call('DELETE', `/api/v2/keys/${key.keyId}`)).status).toBe(404);
    const { body: audit } = await server.call('GET', '/api/v2/audit?principal=bob');
    expect(audit.data.map(({ type, keyId }: Record<string, string>) => [type, keyId])).toEqual([
      ['key_revoked', key.keyId],
      ['key_added', key.keyId],
    ]);
  });

  it('belongs to its own name by default, and needs a valid name, scopes and expiry', async () => {
    const { body: key } = await server.call('POST', '/api/v2/keys', { name: 'robot', scopes: ['read'] });
    expect(key.principal).toBe('robot');
    for (const draft of [
      {},
      { name: 'a b', scopes: ['read'] },
      { name: 'x', scopes: [] },
      { name: 'x', scopes: ['root'] },
    ])
      expect((await server.call('POST', '/api/v2/keys', draft)).status, JSON.stringify(draft)).toBe(400);
    const { body } = await server.call('POST', '/api/v2/keys', { name: 'old', scopes: ['read'], expiresAt: 1 });
    expect(body.isActive).toBe(false);
    expect((await server.call('GET', '/api/v2/threads', undefined, as(body.token))).status).toBe(401);
  });
});

describe('the principal "local"', () => {
  it('belongs to the user of this machine: no key over HTTP is for it', async () => {
    for (const draft of [{ name: 'phone', principal: 'local' }, { name: 'local' }])
      expect(await server.call('POST', '/api/v2/keys', { ...draft, scopes: ['read'] })).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining("this machine's user") },
      });
  });
});

describe('remembered rules over HTTP', () => {
  it('are listed, and deleted one by one', async () => {
    expect((await server.call('GET', '/api/v2/rules')).body.data).toHaveLength(2);
    expect((await server.call('DELETE', '/api/v2/rules/r1')).status).toBe(204);
    expect((await server.call('DELETE', '/api/v2/rules/r1')).status).toBe(404);
    const { body } = await server.call('GET', '/api/v2/rules');
    expect(body).toEqual({ data: [{ ruleId: 'r2', covers: 'writeFile in src', rememberedAt: 6 }] });
  });
});

describe('a decision for the workspace', () => {
  async function waiting(token: string): Promise<{ approvalId: string; runId: string }> {
    const { body } = await server.call('POST', '/api/v2/submit', { prompt: 'please approve' }, as(token));
    const { runId } = body as { runId: string };
    const approval = await until(
      async () => (await server.call('GET', `/api/v2/approvals?runId=${runId}`, undefined, as(token))).body.data[0],
    );
    return { ...approval, runId };
  }

  it('shows its rule first, and stores it when the call is approved', async () => {
    const { approvalId, runId } = await waiting(TOKEN);
    const path = `/api/v2/approvals/${approvalId}`;
    expect((await server.call('GET', `${path}/rule`)).body).toEqual({ covers: 'every signature' });
    for (const wrong of [{ decision: 'deny' }, { decision: 'approve', input: { name: 'other' } }])
      expect((await server.call('POST', path, { ...wrong, remember: 'workspace' })).status).toBe(400);
    expect(remembered.map(({ ruleId }) => ruleId)).not.toContain('added');
    expect((await server.call('POST', path, { decision: 'approve', remember: 'workspace' })).status).toBe(200);
    expect(remembered.at(-1)).toMatchObject({ ruleId: 'added', covers: 'signGuestBook {"name":"demo"}' });
    await server.follow(runId);
    expect((await server.call('POST', path, { decision: 'approve', remember: 'workspace' })).status).toBe(409);
    expect(remembered.filter(({ ruleId }) => ruleId === 'added')).toHaveLength(1);
  });

  it('is refused to a caller without the scope admin, and then decides nothing', async () => {
    const { approvalId } = await waiting('user');
    const path = `/api/v2/approvals/${approvalId}`;
    expect((await server.call('GET', `${path}/rule`, undefined, as('user'))).body).toEqual({});
    const answer = await server.call('POST', path, { decision: 'approve', remember: 'workspace' }, as('user'));
    expect(answer.status).toBe(403);
    expect((await server.call('GET', path, undefined, as('user'))).body.state).toBe('pending');
  });
});

describe('the administration', () => {
  it('is refused to a caller without the scope admin', async () => {
    for (const [method, path] of [
      ['GET', '/api/v2/keys'],
      ['POST', '/api/v2/keys'],
      ['DELETE', '/api/v2/keys/key_1'],
      ['GET', '/api/v2/rules'],
      ['DELETE', '/api/v2/rules/r2'],
    ] as const) {
      const { status } = await server.call(method, path, method === 'POST' ? {} : undefined, as('user'));
      expect(status, `${method} ${path}`).toBe(403);
    }
  });
});

describe('the stream of changes', () => {
  it('has an event at the start and after a change of the caller’s own lists alone', async () => {
    const stop = new AbortController();
    const open = (token: string) =>
      fetch(`${server.url}/api/v2/changes`, { headers: as(token), signal: stop.signal }).then((response) => {
        const counted = { events: 0 };
        void (async () => {
          for await (const chunk of response.body ?? [])
            counted.events += new TextDecoder().decode(chunk).split('event: changed').length - 1;
        })().catch(() => {});
        return counted;
      });
    const [mine, other] = await Promise.all([open(TOKEN), open('user')]);
    await until(() => mine.events === 1 && other.events === 1);
    const { body } = await server.call('POST', '/api/v2/submit', { prompt: 'approve' });
    const atWait = await until(async () => {
      const { body: approvals } = await server.call('GET', `/api/v2/approvals?runId=${body.runId}`);
      return approvals.data.length === 1 && mine.events > 1 ? mine.events : undefined;
    });
    await server.call('PATCH', `/api/v2/threads/${body.threadId}`, { title: 'renamed' });
    await until(() => mine.events > atWait);
    expect(other.events).toBe(1);
    stop.abort();
  });
});

describe('a parked run', () => {
  it('is listed and resumed by an operator alone, and /readyz and the metrics count it', async () => {
    const api = await openTestServer({ workers: 0, auth: { token: TOKEN, authenticate: () => USER } });
    const { runs } = api.stores;
    const input = [{ type: 'message' as const, id: 'item_in', role: 'user' as const, content: 'hello' }];
    const claim = { owner: 'w', leaseMs: 60_000 };
    const { run } = await runs.create({ principal: 'ada', thread: { create: {} }, input, claim });
    const { runId } = run;
    const warnings = async () => (await api.call('GET', '/readyz')).body.warnings;
    const metric = async () =>
      /^toolscript_runs_stuck\{reason="parked"\} (.+)$/mu.exec(
        await (await fetch(`${api.url}/metrics`, { headers: as(TOKEN) })).text(),
      )?.[1];
    expect([await warnings(), await metric()]).toEqual([[], '0']);
    await runs.park({ runId, epoch: 1 }, 'Workers ended.');
    expect(await warnings()).toEqual([
      'Parked runs, during which workers ended: 1. To list them: toolscript admin run list',
    ]);
    expect(await metric()).toBe('1');
    const stuck = { runId, principal: 'ada', status: 'suspended', stuck: 'Workers ended.' };
    expect((await api.call('GET', '/api/v2/stuck-runs')).body.data).toEqual([expect.objectContaining(stuck)]);
    expect((await api.call('GET', `/api/v2/runs/${runId}`, undefined, as('user'))).body.stuck).toBe('Workers ended.');
    const resume = `/api/v2/stuck-runs/${runId}/resume`;
    for (const [method, path] of [
      ['GET', '/api/v2/stuck-runs'],
      ['POST', resume],
    ] as const)
      expect((await api.call(method, path, undefined, as('user'))).status).toBe(403);
    const { status, body } = await api.call('POST', resume);
    expect([status, body.status, body.stuck]).toEqual([202, 'queued', undefined]);
    // The process has no worker.
    const [queued] = (await api.call('GET', '/api/v2/stuck-runs')).body.data;
    expect(queued).toMatchObject({ runId, stuck: expect.stringMatching(/^No worker is running\./u) });
    expect((await api.call('POST', resume)).status).toBe(404);
    expect((await api.call('POST', '/api/v2/stuck-runs/run_missing/resume')).status).toBe(404);
    const { body: audit } = await api.call('GET', '/api/v2/audit?principal=ada');
    expect(audit.data.at(-1)).toMatchObject({
      type: 'run_resumed',
      runId,
      principal: 'ada',
      actor: { principal: 'local' },
    });
    await api.close();
  });
});

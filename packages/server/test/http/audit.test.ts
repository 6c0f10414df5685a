import type { Caller } from '@toolscript/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestServer, TOKEN, type TestServer } from '../support/test-server.js';
import { until } from '@toolscript/testkit/until';

const CALLERS: Readonly<Record<string, Caller>> = {
  ada: { principal: 'ada', scopes: ['read', 'run', 'approve'], keyId: 'key_of_ada' },
  bob: { principal: 'bob', scopes: ['read', 'run', 'approve'] },
  auditor: { principal: 'auditor', scopes: ['admin'] },
  submitter: { principal: 'ada', scopes: ['run'] },
};

let server: TestServer;

beforeAll(async () => {
  server = await openTestServer({ auth: { token: TOKEN, authenticate: (token) => CALLERS[token] } });
});

afterAll(() => server.close());

function as(name: string) {
  const authorization = { authorization: `Bearer ${name}` };
  return (method: string, path: string, body?: unknown) => server.call(method, path, body, authorization);
}

/** Submits a prompt whose script asks, and decides. */
async function decided(name: string, decision: unknown) {
  const call = as(name);
  const { body: submitted } = await call('POST', '/api/v2/submit', { prompt: 'please approve' });
  const { approvalId } = await until(async () => {
    const { body } = await call('GET', `/api/v2/approvals?runId=${submitted.runId}`);
    return body.data[0] as { approvalId: string } | undefined;
  });
  expect((await call('POST', `/api/v2/approvals/${approvalId}`, decision)).status).toBe(200);
  await until(async () => {
    const { body } = await call('GET', `/api/v2/runs/${submitted.runId}`);
    return body.status === 'completed' ? true : undefined;
  });
  return { ...submitted, approvalId } as { runId: string; threadId: string; turnId: string; approvalId: string };
}

describe('the audit log', () => {
  it('has each decision and each call with effects, with principal, thread, run, script and key', async () => {
    const { runId, threadId, turnId, approvalId } = await decided('ada', {
      decision: 'approve',
      input: { name: 'somebody' },
      note: 'fine',
    });
    const { status, body } = await as('ada')('GET', `/api/v2/audit?runId=${runId}`);
    expect(status).toBe(200);
    const ids = { principal: 'ada', runId, threadId, tool: 'signGuestBook', scriptId: expect.any(String) };
    const ofCall = { ...ids, turnId, callId: expect.any(String), at: expect.stringMatching(/^\d{4}-.*Z$/u) };
    expect(body.data.toReversed()).toEqual([
      expect.objectContaining({ principal: 'ada', runId, threadId, turnId, type: 'run_submitted' }),
      expect.objectContaining({
        ...ids,
        type: 'decision',
        actor: { principal: 'ada', keyId: 'key_of_ada', address: '127.0.0.1' },
        approvalId,
        decision: 'approve',
        note: 'fine',
        inputJson: '{"name":"demo"}',
        replacingInput: { name: 'somebody' },
      }),
      expect.objectContaining({
        ...ofCall,
        type: 'approval',
        approvalId,
        decision: 'approve',
        inputJson: '{"name":"somebody"}',
      }),
      expect.objectContaining({ ...ofCall, type: 'call_started', effect: 'write', input: { name: 'somebody' } }),
      expect.objectContaining({ ...ofCall, type: 'call_ended', effect: 'write', status: 'completed' }),
    ]);
  });

  it('contains denials, and no start of a call for them', async () => {
    const { runId } = await decided('bob', 'deny');
    const { body } = await as('bob')('GET', `/api/v2/audit?runId=${runId}`);
    const told = body.data.map((one: Record<string, string>) => [one.type, one.decision ?? one.status]);
    expect(told.toReversed()).toEqual([
      ['run_submitted', undefined],
      ['decision', 'deny'],
      ['approval', 'deny'],
      ['call_ended', 'denied'],
    ]);
  });

  it('shows a principal its own entries, and those of others only to an administrator', async () => {
    const { runId } = await decided('ada', 'approve');
    await decided('bob', 'approve');
    const seen = async (name: string, query = '') => {
      const { body } = await as(name)('GET', `/api/v2/audit?limit=100${query}`);
      return new Set(body.data.map(({ principal }: { principal: string }) => principal));
    };
    expect(await seen('ada')).toEqual(new Set(['ada']));
    expect(await seen('bob', `&runId=${runId}`)).toEqual(new Set());
    expect(await seen('auditor')).toEqual(new Set(['ada', 'bob']));
    expect(await seen('auditor', '&principal=bob')).toEqual(new Set(['bob']));
    expect(await as('bob')('GET', '/api/v2/audit?principal=ada')).toMatchObject({
      status: 403,
      body: { detail: 'The audit log of another principal needs the scope "admin". Omit "principal".' },
    });
    expect((await as('submitter')('GET', '/api/v2/audit')).status).toBe(403);
  });

  it('is read in pages, and exported as lines, oldest first', async () => {
    await decided('ada', 'approve');
    const listed: { callId: string; type: string }[] = [];
    for (let after: string | undefined = ''; after !== undefined;) {
      const { body } = await as('ada')('GET', `/api/v2/audit?limit=3${after === '' ? '' : `&after=${after}`}`);
      listed.push(...body.data);
      after = body.next;
    }
    const response = await fetch(`${server.url}/api/v2/audit?format=jsonl`, {
      headers: { authorization: 'Bearer ada' },
    });
    expect(response.headers.get('content-type')).toBe('application/jsonl; charset=utf-8');
    const lines = (await response.text()).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(listed.toReversed());
    expect(listed.length).toBeGreaterThan(3);
  });
});

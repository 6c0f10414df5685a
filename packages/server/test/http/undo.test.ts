import type { Caller } from '@toolscript/server';
import type { ScriptUndo, UndoReport, UndoRequest } from '@toolscript/server/access';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestServer, TOKEN, type TestServer } from '../support/test-server.js';

const READER: Caller = { principal: 'ada', scopes: ['read', 'run'] };
const DECIDER: Caller = { principal: 'ada', scopes: ['read', 'approve'] };

const asked: (UndoRequest & { planId?: string | undefined })[] = [];

/** Scripts of `ada`; `scr_changed` is refused. */
const undo: ScriptUndo = {
  preview: async (request) => answer(request, false),
  undo: async (request) => {
    asked.push(request);
    return answer(request, true);
  },
};

function answer({ scriptId, principal, direction }: UndoRequest, isDone: boolean): UndoReport | undefined {
  if (principal !== 'ada' || !['scr_a', 'scr_changed'].includes(scriptId)) return undefined;
  const report = { scriptId, direction, planId: 'p', files: [], notUndoable: [], calls: [], notUndone: [] };
  if (scriptId === 'scr_a') return { ...report, isDone, conflicts: [], files: [{ path: 'a.txt', change: 'update' }] };
  const conflicts = [{ path: 'a.txt', reason: 'it was changed since' }];
  return { ...report, isDone: false, conflicts, refusal: { code: 'conflicts', message: 'A file has changed.' } };
}

let server: TestServer;

beforeAll(async () => {
  const authenticate = (token: string) => ({ reader: READER, decider: DECIDER })[token];
  server = await openTestServer({ auth: { token: TOKEN, authenticate }, undo, workers: 0 });
});

beforeEach(() => void (asked.length = 0));

afterAll(() => server.close());

const as = (token: string) => ({ authorization: `Bearer ${token}` });
const path = (scriptId: string) => `/api/v2/scripts/${scriptId}/undo`;

describe('an undo over HTTP', () => {
  it('is shown with the scope read, and done and audited with the scope approve', async () => {
    const shown = await server.call('GET', path('scr_a'), undefined, as('reader'));
    expect([shown.status, shown.body.isDone, shown.body.files]).toEqual([
      200,
      false,
      [{ path: 'a.txt', change: 'update' }],
    ]);
    expect((await server.call('POST', path('scr_a'), {}, as('reader'))).status).toBe(403);
    expect(asked).toEqual([]);
    const done = await server.call('POST', path('scr_a'), { planId: 'p' }, as('decider'));
    expect([done.status, done.body.isDone]).toEqual([200, true]);
    expect(asked).toEqual([{ scriptId: 'scr_a', principal: 'ada', direction: 'undo', planId: 'p' }]);
    const { body } = await server.call('GET', '/api/v2/audit?principal=ada');
    expect(body.data).toMatchObject([{ type: 'undo', scriptId: 'scr_a', direction: 'undo', files: ['a.txt'] }]);
  });

  it('answers a refusal with 409 and its reasons', async () => {
    const { status, body } = await server.call('POST', path('scr_changed'), { direction: 'redo' }, as('decider'));
    expect([status, body.detail]).toEqual([409, 'A file has changed.']);
    expect(body.undo).toMatchObject({ direction: 'redo', conflicts: [{ path: 'a.txt' }] });
  });

  it('finds no script of another principal, and none on a server without undo', async () => {
    for (const method of ['GET', 'POST'] as const)
      expect((await server.call(method, path('scr_a'), method === 'POST' ? {} : undefined)).status).toBe(404);
    const plain = await openTestServer({ workers: 0 });
    expect((await plain.call('GET', path('scr_a'))).status).toBe(404);
    await plain.close();
  });
});

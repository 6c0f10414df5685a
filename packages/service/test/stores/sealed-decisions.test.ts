import Libsql from 'libsql';
import { suspensionSeal } from '@toolscript/core/internal';
import type { ApprovalDraft } from '@toolscript/core/ports';
import type { ServiceStores } from '@toolscript/core/protocol';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openStores } from '#service/stores/index.js';
import { newFolder } from '@toolscript/testkit/folder';

const KEY = 'k'.repeat(32);
const OTHER_KEY = 'o'.repeat(32);
const CLAIM = { owner: 'a worker', leaseMs: 60_000 };

function draft(approvalId: string): ApprovalDraft {
  const about = { callId: 'call_1', tool: 'pay', input: { eur: 1 }, inputJson: '{"eur":1}', rendered: 'pay 1 EUR' };
  const facts = { effect: 'external' as const, plan: [], covers: [], digest: 'd', planned: false, createdAt: 1 };
  return { request: { approvalId, ...about, ...facts } };
}

/** A suspended run that waits for two approvals; and the database without the key. */
async function waitingRun() {
  const path = `${newFolder()}/service.db`;
  const open = async (key: string | readonly string[] | undefined) => {
    const stores = await openStores(`libsql:${path}`, { seal: key === undefined ? undefined : suspensionSeal(key) });
    onTestFinished(() => stores.close());
    return stores;
  };
  const stores = await open(KEY);
  const thread = { create: { title: 'a thread' } };
  const input = [{ type: 'message' as const, id: 'item_1', role: 'user' as const, content: 'hello' }];
  const { run } = await stores.runs.create({ principal: 'ada', thread, input, claim: CLAIM });
  await stores.runs.suspend({ runId: run.runId, epoch: 1 }, [draft('apr_1'), draft('apr_2')]);
  const database = new Libsql(path);
  onTestFinished(() => void database.close());
  const write = (sql: string, ...values: unknown[]) => void database.prepare(sql).run(...values);
  const read = (approvalId: string) =>
    database.prepare('SELECT decision, decided_by FROM approvals WHERE approval_id = ?').get(approvalId) as {
      decision: string;
      decided_by: string;
    };
  return { stores, open, write, read, runId: run.runId };
}

async function claimedDecisions(stores: ServiceStores, runId: string) {
  const claimed = await stores.runs.claim({ ...CLAIM, runId, evenSuspended: true });
  return Object.fromEntries(claimed!.approvals.map(({ approvalId, decision }) => [approvalId, decision]));
}

function verdict(decision: unknown): unknown {
  return typeof decision === 'object' ? (decision as { decision?: unknown } | null)?.decision : decision;
}

describe('a decision in a database', () => {
  it('is read as it was made', async () => {
    const { stores, open, runId } = await waitingRun();
    const decision = { decision: 'approve' as const, input: { eur: 2 }, note: 'é', remember: 'script' as const };
    await stores.threads.decide('apr_1', 'deny', 'ada');
    const { approval } = (await stores.threads.decide('apr_2', decision, 'ada'))!;
    expect(approval).toMatchObject({ state: 'approved', decision, decidedBy: 'ada' });
    // After a change of the key, the earlier key still opens.
    const later = await open([OTHER_KEY, KEY]);
    expect(await claimedDecisions(later, runId)).toEqual({ apr_1: 'deny', apr_2: decision });
  });

  it('approves nothing if it was written without the key', async () => {
    const { stores, write, runId } = await waitingRun();
    for (const [approvalId, decision] of [
      ['apr_1', '"approve"'],
      ['apr_2', '{"decision":"approve","sealed":"approve","mac":"AAAA"}'],
    ])
      write(
        `UPDATE approvals SET state = 'approved', decision = ?, decided_by = '"ada"' WHERE approval_id = ?`,
        decision,
        approvalId,
      );
    const { approvals } = await stores.threads.listApprovals();
    expect(approvals.map(({ state }) => state)).toEqual(['denied', 'denied']);
    expect(await stores.threads.approval('apr_1')).toMatchObject({ state: 'denied' });
    expect(Object.values(await claimedDecisions(stores, runId)).map(verdict)).toEqual(['deny', 'deny']);
  });

  it('approves nothing else: with another approval, user, key or state', async () => {
    const { stores, open, write, read } = await waitingRun();
    await stores.threads.decide('apr_1', 'approve', 'ada');
    const { decision } = read('apr_1');
    const change = (sql: string, ...values: unknown[]) => write(`UPDATE approvals SET ${sql}`, ...values);
    change(`state = 'approved', decision = ?, decided_by = '"ada"' WHERE approval_id = 'apr_2'`, decision);
    expect(await stores.threads.approval('apr_2')).toMatchObject({ state: 'denied' });
    change(`decided_by = '"bob"' WHERE approval_id = 'apr_1'`);
    expect(await stores.threads.approval('apr_1')).toMatchObject({ state: 'denied' });
    change(`decided_by = '"ada"', state = 'denied' WHERE approval_id = 'apr_1'`);
    expect(await stores.threads.approval('apr_1')).toMatchObject({ state: 'approved', decision: 'approve' });
    expect(await (await open(OTHER_KEY)).threads.approval('apr_1')).toMatchObject({ state: 'denied' });
    change(`decision = NULL WHERE approval_id = 'apr_1'`);
    expect(await stores.threads.approval('apr_1')).toMatchObject({ state: 'denied' });
  });

  it('approves nothing after a change of any of its bytes', async () => {
    const { stores, write, read } = await waitingRun();
    const decision = { decision: 'deny' as const, note: 'no' };
    await stores.threads.decide('apr_1', decision, 'ada');
    const { decision: stored } = read('apr_1');
    for (let at = 0; at < stored.length; at += 1)
      for (const put of ['', 'x', '"', stored[at] === 'A' ? 'B' : 'A']) {
        const changed = stored.slice(0, at) + put + stored.slice(at + 1);
        write(`UPDATE approvals SET state = 'approved', decision = ? WHERE approval_id = 'apr_1'`, changed);
        const approval = await stores.threads.approval('apr_1').catch(() => undefined);
        expect(verdict(approval?.decision) ?? 'deny', changed).toBe('deny');
      }
  });
});

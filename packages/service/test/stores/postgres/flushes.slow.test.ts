import { expect, it } from 'vitest';
import type { PostgresConnection } from '#service/stores/postgres/connection.js';
import { tablesOver } from '#service/stores/tables/index.js';
import { openStores } from '#service/stores/index.js';
import { observedConnection } from './support/observed-connection.js';
import { describeWithPostgres, newSchemaUrl } from './support/test-postgres.js';

/** The texts of the statements that the action sends. */
async function statementsOf(action: (connection: PostgresConnection) => Promise<unknown>): Promise<string[]> {
  const url = await newSchemaUrl();
  await (await openStores(url)).close();
  const texts: string[] = [];
  const connection = await observedConnection(url, (statement) => {
    texts.push(typeof statement === 'string' ? statement : statement.text);
  });
  await action(connection);
  return texts;
}

const requestOf = (approvalId: string) => ({
  approvalId,
  callId: approvalId,
  tool: 'pay',
  input: {},
  inputJson: '{}',
  effect: 'write' as const,
  rendered: 'pay({})',
  plan: [],
  covers: [],
  digest: 'd',
  planned: false,
  createdAt: 1,
});

const DRAFT = { principal: 'ada', thread: { create: {} }, input: [] };

describeWithPostgres('a change in PostgreSQL', () => {
  it('with a position is committed before it is flushed, so that others wait for no disk, and flushed before it resolves', async () => {
    const texts = await statementsOf((connection) => tablesOver(connection).runs.create(DRAFT, '', 1));
    expect(texts.at(-2)).toBe('SET LOCAL synchronous_commit = off; COMMIT');
    expect(texts.at(-1)).toContain('pg_logical_emit_message(true');
    expect(texts.join('\n')).toContain('pg_advisory_xact_lock');
  });

  it('that asks for approvals takes their positions in its last statement, however many they are', async () => {
    const texts = await statementsOf(async (connection) => {
      const { runs } = tablesOver(connection);
      const { run } = await runs.create({ ...DRAFT, claim: { owner: 'x', leaseMs: 60_000 } }, '', 1);
      const asked = Array.from({ length: 3 }, (_, index) => ({ request: requestOf(`apr_${index}`) }));
      await runs.suspend({ runId: run.runId, epoch: run.epoch }, asked, 2);
    });
    const positions = texts.flatMap((text, index) => (text.includes(`toolscript ' || 'positions'`) ? [index] : []));
    // One for the new run, and one for its three approvals, before the commit and the flush.
    expect(positions).toHaveLength(2);
    expect(positions.at(-1)).toBe(texts.length - 3);
  });

  it('without one is flushed by its commit', async () => {
    const texts = await statementsOf((connection) => tablesOver(connection).threads.rename('thr_1', 'x', 1));
    expect(texts.at(-1)).toBe('COMMIT');
    expect(texts.join('\n')).not.toContain('synchronous_commit');
  });
});

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

const DRAFT = { principal: 'ada', thread: { create: {} }, input: [] };

describeWithPostgres('a change in PostgreSQL', () => {
  it('with a position is committed before it is flushed, so that others wait for no disk, and flushed before it resolves', async () => {
    const texts = await statementsOf((connection) => tablesOver(connection).runs.create(DRAFT, '', 1));
    expect(texts.at(-2)).toBe('SET LOCAL synchronous_commit = off; COMMIT');
    expect(texts.at(-1)).toContain('pg_logical_emit_message(true');
    expect(texts.join('\n')).toContain('pg_advisory_xact_lock');
  });

  it('without one is flushed by its commit', async () => {
    const texts = await statementsOf((connection) => tablesOver(connection).threads.rename('thr_1', 'x', 1));
    expect(texts.at(-1)).toBe('COMMIT');
    expect(texts.join('\n')).not.toContain('synchronous_commit');
  });
});

import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { openStores } from '#service/stores/index.js';
import { administrator, describeWithPostgres, newSchemaUrl, newUser, schemaOf } from './support/test-postgres.js';

const INPUT = [{ type: 'message' as const, id: 'item_1', role: 'user' as const, content: 'hello' }];

describeWithPostgres('a PostgreSQL server that becomes a standby', () => {
  it('is asked again over new connections, until it is the primary', async () => {
    const url = await newSchemaUrl();
    const { name, url: guest } = await newUser(url);
    await administrator.query(`GRANT ALL ON SCHEMA ${schemaOf(url)} TO ${name}`);
    const stores = await openStores(guest);
    onTestFinished(() => stores.close());
    // Connections of the user are read-only from the next one.
    await administrator.query(`ALTER ROLE ${name} SET default_transaction_read_only = on`);
    await administrator.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [name]);
    const created = stores.runs.create({ principal: 'ada', thread: { create: {} }, input: INPUT });
    await delay(500);
    await administrator.query(`ALTER ROLE ${name} RESET default_transaction_read_only`);
    const { run } = await created;
    expect(await stores.runs.get(run.runId)).toEqual(run);
  });
});

import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import {
  changedUrl,
  describeWithPostgres,
  newSchemaUrl,
} from '../../../server/test/stores/postgres/support/test-postgres.js';
import { Place } from '../support/place.js';
import { serve, type Served } from './support/served.js';

const servers: Served[] = [];

async function started(place: Place, store: string): Promise<Served> {
  const server = await serve(['--store', store], { env: place.env });
  servers.push(server);
  return server;
}

afterAll(async () => {
  for (const server of servers) await server.end();
});

async function pendingApproval(server: Served): Promise<{ approvalId: string }> {
  for (;;) {
    const { data } = await server.api('approvals');
    if (data.length > 0) return data[0];
    await delay(50);
  }
}

describeWithPostgres('toolscript serve --store postgres://…', () => {
  it('a run that one machine suspended is decided and finished on another one', async () => {
    const store = await newSchemaUrl();
    const [here, there] = [new Place(), new Place()];
    const first = await started(here, store);
    const { runId, threadId } = await first.api('submit', { prompt: 'approve' });
    const { approvalId } = await pendingApproval(first);
    await first.end('SIGKILL');
    expect(existsSync(here.kept('scripts'))).toBe(false);
    mkdirSync(dirname(there.kept('suspension.key')), { recursive: true, mode: 0o700 });
    copyFileSync(here.kept('suspension.key'), there.kept('suspension.key'));
    const second = await started(there, store);
    expect(await second.api(`approvals/${approvalId}`, 'approve')).toMatchObject({ state: 'approved' });
    expect(await second.follow(runId)).toContain('"status":"completed"');
    expect((await second.api(`threads/${threadId}`)).runs).toMatchObject([{ runId, status: 'completed' }]);
  });

  it('a URL that cannot be used ends the command with one sentence', async () => {
    const place = new Place();
    const of = (store: string) => place.toolscript(['serve', '--port', '0', '--store', store]);
    const missingDatabase = changedUrl(await newSchemaUrl(), (url) => (url.pathname = '/no_such_database'));
    for (const [store, sentence] of [
      ['mysql://ada:secret@host/x', /^toolscript: --store: Stores cannot be opened at "mysql:…"\. Supported are /u],
      ['postgres://ada:secret@127.0.0.1:1/x', /^toolscript: No PostgreSQL server answers at 127\.0\.0\.1:1\/x\. /u],
      [missingDatabase, /^toolscript: PostgreSQL has no database .*\. Create it: createdb "no_such_database"/u],
    ] as const) {
      const { status, stderr } = await of(store);
      expect([status, stderr]).toEqual([2, expect.stringMatching(sentence)]);
      expect(stderr).not.toContain('secret');
      expect(stderr.trim().split('\n')).toHaveLength(1);
    }
  });
});

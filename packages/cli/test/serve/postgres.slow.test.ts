import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import {
  changedUrl,
  describeWithPostgres,
  newSchemaUrl,
} from '../../../service/test/stores/postgres/support/test-postgres.js';
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

  it('an API key of the database is valid on every machine, and allows the server to listen for other ones', async () => {
    const store = await newSchemaUrl();
    const [here, there] = [new Place(), new Place()];
    const keys = (...words: string[]) => here.toolscript(['keys', ...words, '--store', store]);
    expect((await there.toolscript(['serve', '--port', '0', '--host', '0.0.0.0', '--store', store])).stderr).toContain(
      'there is no API key for them. Create one first: toolscript keys add NAME',
    );
    const key = (await keys('add', 'ci')).stdout.trim();
    expect(existsSync(here.kept('keys'))).toBe(false);
    const env = { ...there.env, TOOLSCRIPT_TOKEN: 'a-token-of-this-test' };
    const server = await serve(['--store', store, '--host', '0.0.0.0'], { env });
    servers.push(server);
    const status = async () =>
      (await fetch(`${server.url}/api/v2/threads`, { headers: { authorization: `Bearer ${key}` } })).status;
    expect(await status()).toBe(200);
    const audit = await server.api('audit');
    expect(audit.data).toMatchObject([{ type: 'key_added', name: 'ci' }]);
    expect(existsSync(here.kept('audit.jsonl'))).toBe(false);
    expect((await keys('revoke', 'ci')).stdout).toMatch(/^key_[0-9a-f]{16} \(ci\) is revoked\.\n$/u);
    expect(await status()).toBe(401);
    expect(await here.toolscript(['keys', 'list', '--store', 'libsql:x.db'])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--store: only a postgres://… database has API keys of its own.'),
    });
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

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ToolscriptUsageError, type EventLog } from '@toolscript/core/protocol';
import { StoreUnavailableError } from '@toolscript/core/ports';
import { openEventLog, openStores } from '#service/stores/index.js';
import { freePort } from '@toolscript/testkit/free-port';
import { describeWithPgBouncer, OwnPgBouncer } from './support/test-pgbouncer.js';
import { postgresLaws } from './support/postgres-laws.js';
import { administrator, changedUrl } from './support/test-postgres.js';
import { event } from '../support/one-event.js';

/** Laws of several handles, which share the connections of the pooler. With the variable, all laws are checked. */
const FEW = /concurrent|across two handles|through another handle|of a lost|at once/u;
const chosen = process.env.TOOLSCRIPT_TEST_POOLER === 'all' ? /(?:)/u : FEW;

const withListen = (url: string, port: number) =>
  changedUrl(url, (made) => made.searchParams.set('listen', `127.0.0.1:${port}`));

async function faultOf(url: string): Promise<string> {
  const fault = await openStores(url).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(fault).toSatisfy((error) => error instanceof StoreUnavailableError || error instanceof ToolscriptUsageError);
  return (fault as Error).message;
}

async function opened(url: string): Promise<EventLog> {
  const log = await openEventLog(url);
  onTestFinished(() => log.close());
  return log;
}

let pooler: OwnPgBouncer;

describeWithPgBouncer('PgBouncer in transaction mode', () => {
  beforeAll(async () => {
    pooler = await OwnPgBouncer.start();
  });

  afterAll(() => pooler.end());

  postgresLaws(() => pooler.newUrl(), chosen);

  describe('with the parameter listen, notifications', () => {
    it('come from the server itself: hundreds of changes in a row are not polled for', async () => {
      const url = withListen(await pooler.newUrl(), administrator.port);
      const [writer, reader] = [await opened(url), await opened(url)];
      // Each event is published after the one before it has arrived. Polling finds one in a second.
      let seen = 0;
      const reading = (async () => {
        for await (const { seq } of reader.subscribe('run_a')) {
          seen = seq;
          if (seq === 300) return;
          await writer.publish(1, [event(seq + 1)]);
        }
      })();
      await writer.open('run_a', 1);
      await writer.publish(1, [event(0)]);
      await reading;
      expect(seen).toBe(300);
    });
  });

  it('a wrong address of the server, and a parameter that the pooler refuses, are one sentence each', async () => {
    const url = await pooler.newUrl();
    const port = await freePort();
    expect(await faultOf(withListen(url, port))).toMatch(
      new RegExp(`^No PostgreSQL server answers at 127\\.0\\.0\\.1:${port}/test\\. Start the server`, 'u'),
    );
    const wrong = changedUrl(url, (made) => made.searchParams.set('listen', 'a b'));
    expect(await faultOf(wrong)).toBe(
      'The parameter "listen" of the PostgreSQL URL is "a b". Write the address of the server itself: ?listen=HOST:PORT',
    );
    const refused = changedUrl(url, (made) => made.searchParams.set('options', '-c search_path=x'));
    expect(await faultOf(refused)).toMatch(
      /^The pooler at .* refuses a parameter of the URL \(unsupported startup parameter: options\)\. Remove/u,
    );
  });
});

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  administrator,
  describeWithPostgres,
  newSchemaUrl,
  schemaOf,
} from '../../../service/test/stores/postgres/support/test-postgres.js';
import { describeWithOwnRedis, OwnRedis } from '../../../service/test/stores/redis/support/test-redis.js';
import { effectsIn } from '../support/one-script-agent.js';
import { operationsIn } from './support/operations.js';
import { startServer } from './support/server-process.js';
import { newFolder } from '@toolscript/testkit/folder';

const script = (code: string) => ({ type: 'script', code });

describeWithPostgres('over PostgreSQL', () =>
  describeWithOwnRedis('and Redis', () => {
    it.each([
      [
        'script',
        [
          script("return await tools.mark({ tag: 'a' });"),
          script("await tools.mark({ tag: 'b' }); return await tools.hang({ tag: 'c' }).catch((error) => error.name);"),
        ],
      ],
      [
        'structured call',
        [
          { type: 'call', name: 'mark', arguments: { tag: 'a' } },
          script("return await tools.mark({ tag: 'b' });"),
          { type: 'call', name: 'hang', arguments: { tag: 'c' } },
        ],
      ],
    ])(
      'a %s whose events are lost with its worker repeats no effect, and its effects are reported',
      async (_kind, steps) => {
        const folder = newFolder();
        const effects = join(folder, 'effects');
        const redis = await OwnRedis.start();
        const store = await newSchemaUrl();
        const start = () =>
          startServer(folder, { store, events: redis.url(), roles: ['api', 'worker', 'persistence'] });
        const first = await start();
        const body = { prompt: JSON.stringify({ steps }), agentId: 'caller' };
        const { runId } = (await first.client!.call('POST', '/api/v2/submit', body)).body as { runId: string };
        await expect.poll(() => existsSync(effects) && effectsIn(effects)).toEqual(['a', 'b', 'c']);
        first.child.kill('SIGKILL');
        await first.ended;
        // Redis loses its data, and no persistence worker had copied the events.
        redis.command('flushall');
        await administrator.query(`DELETE FROM "${schemaOf(store)}".events`);
        const second = await start();
        const state = async () => (await second.client!.call('GET', `/api/v2/runs/${runId}`)).body.status;
        await expect.poll(state).toBe('completed');
        const seen = await second.client!.follow(runId);
        expect(seen.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
        expect(effectsIn(effects)).toEqual(['a', 'b', 'c']);
        expect(Object.fromEntries(operationsIn(seen))).toEqual({ a: 'completed', b: 'completed', c: 'unknown' });
      },
    );
  }),
);

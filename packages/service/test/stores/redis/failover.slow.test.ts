import { expect, it, onTestFinished } from 'vitest';
import { openEventLog } from '#service/stores/index.js';
import { event } from '../support/one-event.js';
import { describeWithOwnRedis, OwnRedis } from './support/test-redis.js';
import { until } from '@toolscript/testkit/until';

describeWithOwnRedis('a Redis server that becomes a replica', () => {
  it('is asked again over new connections, until it is the primary', async () => {
    const redis = await OwnRedis.start();
    const log = await openEventLog(redis.url());
    onTestFinished(() => log.close());
    const connections = () => redis.command('client', 'list').match(/\bid=\d+(?=.* name=toolscript)/gu) ?? [];
    const before: readonly string[] = connections();
    await log.open(event(0).run_id, 1);
    redis.command('replicaof', '127.0.0.1', '1');
    const published = log.publish(1, [event(0)]);
    await until(() => redis.command('info', 'errorstats').includes('READONLY'));
    redis.command('replicaof', 'no', 'one');
    await published;
    expect((await log.read('run_a')).events).toEqual([event(0)]);
    expect(connections().filter((id) => before.includes(id))).toEqual([]);
  });
});

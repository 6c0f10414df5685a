import { it } from 'vitest';
import { eventLogConformance, type MakeEventLog } from '@toolscript/core/testing';
import type { EventLog } from '@toolscript/core/protocol';
import { openEventLog } from '#service/stores/index.js';
import { describeWithRedis, newRedisUrl } from './support/test-redis.js';

/** Each opening has separate connections, like another process. */
const urls = new WeakMap<EventLog, string>();

const makeEventLog: MakeEventLog = async ({ beside, ...options } = {}) => {
  const url = (beside && urls.get(beside)) ?? newRedisUrl();
  const log = await openEventLog(url, options);
  urls.set(log, url);
  return log;
};

describeWithRedis('the event log in Redis', () => {
  it.each(eventLogConformance().map((law) => [law.name, law] as const))('%s', (_name, law) => law.check(makeEventLog));
});

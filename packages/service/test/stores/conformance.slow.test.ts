import { describe, it } from 'vitest';
import {
  documentStoreConformance,
  eventLogConformance,
  heapStoreConformance,
  runStoreConformance,
  threadStoreConformance,
  type MakeEventLog,
  type MakeHeaps,
  type MakeStores,
} from '@toolscript/core/testing';
import type { EventLog, ServiceStores } from '@toolscript/core/protocol';
import { suspensionSeal } from '@toolscript/core/internal';
import { openEventLog, openStores } from '#service/stores/index.js';
import { newFolder } from '@toolscript/testkit/folder';

const named = <Law extends { name: string }>(laws: readonly Law[]) => laws.map((law) => [law.name, law] as const);

/** Each handle is a separate connection, as in another process. */
const urls = new WeakMap<ServiceStores | EventLog, string>();
const urlOf = (beside: ServiceStores | EventLog | undefined) =>
  (beside && urls.get(beside)) ?? `libsql:${newFolder()}/deep/service.db`;

const makeStores: MakeStores = async ({ beside, ...options } = {}) => {
  const url = urlOf(beside);
  const stores = await openStores(url, { seal: suspensionSeal('k'.repeat(32)), ...options });
  urls.set(stores, url);
  return stores;
};

const makeHeaps: MakeHeaps = ({ beside, ...options } = {}) =>
  makeStores({ ...options, beside: beside as ServiceStores });

const makeEventLog: MakeEventLog = async ({ beside, ...options } = {}) => {
  const url = urlOf(beside);
  const log = await openEventLog(url, options);
  urls.set(log, url);
  return log;
};

describe('threads in a file', () => {
  it.each(named(threadStoreConformance()))('%s', (_name, law) => law.check(makeStores));
});

describe('runs in a file', () => {
  it.each(named(runStoreConformance()))('%s', (_name, law) => law.check(makeStores));
});

describe('documents in a file', () => {
  it.each(named(documentStoreConformance()))('%s', (_name, law) => law.check(makeStores));
});

describe('heaps in a file', () => {
  it.each(named(heapStoreConformance()))('%s', (_name, law) => law.check(makeHeaps));
});

describe('the event log in a file', () => {
  it.each(named(eventLogConformance()))('%s', (_name, law) => law.check(makeEventLog));
});

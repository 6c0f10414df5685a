import { afterEach, describe, it } from 'vitest';
import {
  documentStoreConformance,
  eventLogConformance,
  heapStoreConformance,
  runStoreConformance,
  storeConformance,
  threadStoreConformance,
  type MakeEventLog,
  type MakeHeaps,
  type MakeStore,
  type MakeStores,
} from '@toolscript/core/testing';
import type { EventLog, HarnessStore, ServiceStores } from '@toolscript/core/protocol';
import { openEventLog, openStores } from '#service/stores/index.js';
import { PostgresDatabase } from '#service/stores/postgres/postgres-database.js';
import { postgresScripts } from '#service/stores/postgres/scripts.js';

/** The suites of all ports, over schemas whose URLs `newUrl` makes. `filter`: only the laws with such names. */
export function postgresLaws(newUrl: () => Promise<string>, filter = /(?:)/u): void {
  const named = <Law extends { name: string }>(laws: readonly Law[]) =>
    laws.filter(({ name }) => filter.test(name)).map((law) => [law.name, law] as const);

  /** Each opening has separate connections, like another process. */
  const urls = new WeakMap<ServiceStores | EventLog, string>();
  const urlOf = async (beside: ServiceStores | EventLog | undefined) =>
    (beside && urls.get(beside)) ?? (await newUrl());

  const makeStores: MakeStores = async ({ beside, ...options } = {}) => {
    const url = await urlOf(beside);
    const stores = await openStores(url, options);
    urls.set(stores, url);
    return stores;
  };

  const makeHeaps: MakeHeaps = ({ beside, ...options } = {}) =>
    makeStores({ ...options, beside: beside as ServiceStores });

  const makeEventLog: MakeEventLog = async ({ beside, ...options } = {}) => {
    const url = await urlOf(beside);
    const log = await openEventLog(url, options);
    urls.set(log, url);
    return log;
  };

  const open: PostgresDatabase[] = [];
  const urlOfScripts = new WeakMap<HarnessStore, string>();

  const makeScripts: MakeStore = async ({ beside, maxScriptBytes } = {}) => {
    const url = (beside && urlOfScripts.get(beside)) ?? (await newUrl());
    const database = await PostgresDatabase.open(url);
    open.push(database);
    const store = postgresScripts(database, maxScriptBytes === undefined ? {} : { maxScriptBytes });
    urlOfScripts.set(store, url);
    return store;
  };

  afterEach(async () => {
    await Promise.all(open.splice(0).map((database) => database.close()));
  });

  describe('threads in PostgreSQL', () => {
    it.each(named(threadStoreConformance()))('%s', (_name, law) => law.check(makeStores));
  });

  describe('runs in PostgreSQL', () => {
    it.each(named(runStoreConformance()))('%s', (_name, law) => law.check(makeStores));
  });

  describe('documents in PostgreSQL', () => {
    it.each(named(documentStoreConformance()))('%s', (_name, law) => law.check(makeStores));
  });

  describe('heaps in PostgreSQL', () => {
    it.each(named(heapStoreConformance()))('%s', (_name, law) => law.check(makeHeaps));
  });

  describe('the event log in PostgreSQL', () => {
    it.each(named(eventLogConformance()))('%s', (_name, law) => law.check(makeEventLog));
  });

  describe('scripts in PostgreSQL', () => {
    it.each(named(storeConformance()))('%s', (_name, law) => law.check(makeScripts));
  });
}

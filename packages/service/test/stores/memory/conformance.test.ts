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
import { memoryEventLog, memoryStores } from '#service/stores/index.js';

const named = <Law extends { name: string }>(laws: readonly Law[]) => laws.map((law) => [law.name, law] as const);

/** A second store over the same memory is equal to the first. */
const makeStores: MakeStores = ({ beside, ...options } = {}) => beside ?? memoryStores(options);
const makeHeaps: MakeHeaps = ({ beside, ...options } = {}) => beside ?? memoryStores(options);
const makeEventLog: MakeEventLog = ({ beside, ...options } = {}) => beside ?? memoryEventLog(options);

describe('threads in memory', () => {
  it.each(named(threadStoreConformance()))('%s', (_name, law) => law.check(makeStores));
});

describe('runs in memory', () => {
  it.each(named(runStoreConformance()))('%s', (_name, law) => law.check(makeStores));
});

describe('documents in memory', () => {
  it.each(named(documentStoreConformance()))('%s', (_name, law) => law.check(makeStores));
});

describe('heaps in memory', () => {
  it.each(named(heapStoreConformance()))('%s', (_name, law) => law.check(makeHeaps));
});

describe('the event log in memory', () => {
  it.each(named(eventLogConformance()))('%s', (_name, law) => law.check(makeEventLog));
});

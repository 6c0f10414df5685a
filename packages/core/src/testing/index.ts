export {
  asScript,
  driveRun,
  returnedValue,
  TEST_LIMITS,
  type DrivenRun,
  type DriveOptions,
  type TestHost,
} from './drive-run.js';
export { documentStoreConformance } from './document-store-conformance.js';
export {
  heapStoreConformance,
  type HeapLaw,
  type MakeHeaps,
  type OpenHeaps,
  type TestHeapsOptions,
} from './heap-store-conformance.js';
export { runtimeConformance, type RuntimeLaw } from './runtime-conformance.js';
export { eventLogConformance } from './event-log-conformance.js';
export { runStoreConformance } from './run-store-conformance.js';
export { storeConformance, type MakeStore, type StoreLaw, type TestStoreOptions } from './store-conformance.js';
export type {
  EventLogLaw,
  MakeEventLog,
  MakeStores,
  PortLaw,
  StoresLaw,
  TestEventLogOptions,
  TestStoresOptions,
} from './service-laws.js';
export { threadStoreConformance } from './thread-store-conformance.js';

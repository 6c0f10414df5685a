export {
  asScript,
  driveRun,
  returned,
  TEST_LIMITS,
  type DrivenRun,
  type DriveOptions,
  type TestHost,
} from './drive-run.js';
export { runtimeConformance, type RuntimeLaw } from './runtime-conformance.js';
export { storeConformance, type MakeStore, type StoreLaw, type TestStoreOptions } from './store-conformance.js';

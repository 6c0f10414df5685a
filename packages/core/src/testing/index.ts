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

export { CheckPool, type CheckPoolStats } from './check-pool.js';
export {
  createTypeChecker,
  type KeptVariables,
  type ObservedTools,
  type PrintedType,
  type TypeCheck,
  type TypeChecker,
  type TypeCheckerOptions,
} from './type-checker.js';

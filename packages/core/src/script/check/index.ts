export { CheckPool, type CheckPoolStats } from './check-pool.js';
export { createTypeChecker, type TypeCheck, type TypeChecker, type TypeCheckerOptions } from './type-checker.js';

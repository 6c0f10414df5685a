export { createCompiler } from './compiler.js';
export type {
  CompileOptions,
  Compiler,
  CompilerOptions,
  CompilerStats,
  TypeCheckContext,
  TypeChecker,
} from './compiler.js';
export { createDetector, detectScripts } from './detector.js';
export type { Detector, DetectorEvent, DetectorOptions } from './detector.js';

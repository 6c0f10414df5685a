export { createCompiler, restoreScript } from './compiler.js';
export type { CompileOptions, Compiler, CompilerOptions, CompilerStats } from './compiler.js';
export type { TypeChecker } from './type-checker/index.js';
export { createDetector, detectScripts } from './detector.js';
export type { DetectorEvent } from './detect-events.js';
export type { Detector, DetectorOptions } from './detector.js';

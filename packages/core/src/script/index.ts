export { createCompiler, restoreScript } from './compiler.js';
export type { CompileOptions, Compiler, CompilerOptions, CompilerStats } from './compiler.js';
export type { TypeChecker } from './type-checker/index.js';
export { createDetector, detectScripts } from './detector.js';
export type { Detector, DetectorEvent, DetectorOptions } from './detector.js';

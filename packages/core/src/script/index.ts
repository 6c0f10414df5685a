export { createCompiler, repairedText, restoreScript } from './compile/compiler.js';
export type { Compiler, CompilerStats } from './compile/compiler.js';
export type { TypeChecker } from './check/index.js';
export { createDetector } from './detect/detector.js';
export type { Detector, DetectorEvent, DetectorOptions } from './detect/detector.js';

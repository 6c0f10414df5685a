/** Advice about well-known globals that scripts lack. */
const INSTEAD: Readonly<Record<string, string>> = {
  setImmediate: 'Use `await sleep(0)`.',
  fetch: 'Scripts have no network; use a tool (`await catalog.search("fetch url")` finds one, if there is one).',
  XMLHttpRequest: 'Scripts have no network; use a tool.',
  WebSocket: 'Scripts have no network; use a tool.',
  require: 'Scripts have no modules; use the tools and the built-in globals.',
  module: 'Scripts have no modules; `return` the value.',
  exports: 'Scripts have no modules; `return` the value.',
  process: 'Scripts have no process; use `context.workingDirectory` for the folder, and a tool to run commands.',
  global: 'Use `globalThis`.',
  window: 'Use `globalThis`.',
  document: 'Scripts have no web page; `return` the data.',
  alert: 'Use `text(value)` or `console.log(value)`.',
  fs: 'Use the tools for files (`await catalog.search("read file")` finds them).',
  path: 'Join paths with template strings.',
  child_process: 'Use a tool that runs programs (`await catalog.search("run program")` finds one, if there is one).',
  Worker: 'Scripts have one thread; `Promise.all` runs tool calls side by side.',
  SharedArrayBuffer: 'Scripts have one thread; use ArrayBuffer.',
  Atomics: 'Scripts have one thread; use ordinary variables.',
  WebAssembly: 'Scripts cannot run WebAssembly; write the code in the script.',
  eval: 'Scripts cannot make code from text; write the code in the script.',
  __dirname: 'Use `context.workingDirectory`.',
  __filename: 'Scripts have no file; use `context.workingDirectory` for the folder.',
};

/** Returns the advice about a global that scripts lack; undefined for unknown names. */
export function missingNameAdvice(name: string): string | undefined {
  return Object.hasOwn(INSTEAD, name) ? INSTEAD[name] : undefined;
}

// Compiles programs that use the packages with TypeScript, and runs tools that check the types of packages.
import { join } from 'node:path';
import { run } from './shell.mjs';

const NODE = process.execPath;

/**
 * A CommonJS program in strict TypeScript compiles and runs. With `nodenext` it imports the package as if it were
 * CommonJS. With `node16`, which cannot `require` an ES module, it uses `await import`.
 */
export function commonJs(project, compiler, module) {
  const out = `out/types-${compiler}-${module}`;
  const options = ['--strict', '--module', module, '--target', 'es2022', '--types', 'node', '--outDir', out];
  run(NODE, [join(project, 'node_modules', compiler, 'bin/tsc'), ...options, `consumer-${module}.cts`], {
    cwd: project,
  });
  return run(NODE, [join(out, `consumer-${module}.cjs`)], { cwd: project });
}

/** The declarations resolve for every way to import; `cjs-resolves-to-esm` is how Node 20.19 loads modules. */
export function typesWrong(project, file) {
  const args = [file, '--profile', 'node16', '--ignore-rules', 'cjs-resolves-to-esm', '--format', 'ascii'];
  run(join(project, 'node_modules/.bin/attw'), args, { cwd: project });
  return 'ok';
}

export function publint(project, file) {
  run(join(project, 'node_modules/.bin/publint'), ['run', file, '--strict'], { cwd: project });
  return 'ok';
}

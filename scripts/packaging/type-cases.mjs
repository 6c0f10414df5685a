// Compiles programs that use the packages with TypeScript, and runs tools that check the types of packages.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
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

/**
 * Every declaration compiles under the strictest options of a user, who also checks the declarations of libraries. The
 * entry point for the AI SDK is excluded: the SDK's own declarations fail with `exactOptionalPropertyTypes`.
 */
export function strictTypes(project, compiler, resolution) {
  const module = resolution === 'bundler' ? 'esnext' : resolution;
  const entries = declaredEntries(join(project, 'node_modules/@toolscript'));
  if (entries.length < 15) throw new Error(`Only ${entries.length} entry points have declarations: ${entries}`);
  writeFileSync(
    join(project, 'strict.ts'),
    entries.map((entry, at) => `export type * as entry${at} from '${entry}';`).join('\n'),
  );
  const options = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false'];
  const output = ['--module', module, '--moduleResolution', resolution, '--target', 'es2023', '--types', 'node'];
  const tsc = join(project, 'node_modules', compiler, 'bin/tsc');
  run(NODE, [tsc, ...options, ...output, 'strict.ts'], { cwd: project });
  return 'ok';
}

function declaredEntries(scope) {
  return readdirSync(scope).flatMap((name) => {
    const { exports = {} } = JSON.parse(readFileSync(join(scope, name, 'package.json'), 'utf8'));
    return Object.entries(exports)
      .filter(([path, { types }]) => types !== undefined && path !== './ai-sdk')
      .map(([path]) => `@toolscript/${name}${path.slice(1)}`);
  });
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

// The guest's modules as one program: the source of an expression, whose value is what its entry exports by default.
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const folder = fileURLToPath(new URL('../src/sandbox/guest/', import.meta.url));

/**
 * `entry`: the path of the entry, within the guest's folder unless absolute. `change` gives a module another source, by
 * its path within the guest's folder; `prelude` comes before the modules. The same sources give the same text.
 */
export async function bundleGuest({ entry = 'main.ts', change = (_path, source) => source, prelude = '' } = {}) {
  const bundle = await rolldown({
    input: resolve(folder, entry),
    platform: 'neutral',
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    // The manifest's `sideEffects` speaks of the library. The guest's modules are all needed.
    treeshake: { moduleSideEffects: true },
    checks: { bundlerTimings: false },
    plugins: [
      {
        name: 'change',
        transform: (source, id) => ({ code: change(id.slice(folder.length), source), map: null }),
      },
    ],
    onLog(_level, log) {
      throw new Error(`The guest cannot be bundled: ${log.message}`);
    },
  });
  // Shorter names take less of the image. Anything more takes more of it.
  const minify = { compress: false, mangle: true };
  const { output } = await bundle.generate({ format: 'iife', name: 'guest', exports: 'default', minify });
  await bundle.close();
  return `(() => { 'use strict'; ${prelude}\n${output[0].code}\nreturn guest; })()`;
}

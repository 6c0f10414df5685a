// Writes the program as a few files that start fast, with the engine beside them. Run after `tsc -b` and after
// the sandbox is built. The layout is what the bundled modules expect of their own neighbourhood: threads are
// `./entry.js` and `./compile-worker.js`, the process of exec's sandbox is `./sandbox-host.js`, the engine is in
// `../artefacts/`, what the type checker knows of it in `../type-library/`, the manifest is `../package.json`.
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const cli = dirname(dirname(fileURLToPath(import.meta.url)));
const core = join(cli, '../core');
const folder = join(cli, 'bundle');
const manifest = JSON.parse(readFileSync(join(cli, 'package.json'), 'utf8'));
// Native code and what brings a binary is installed; everything else is in the files.
const installed = Object.keys(manifest.dependencies);

rmSync(folder, { recursive: true, force: true });
const bundle = await rolldown({
  input: {
    main: join(cli, 'dist/main.js'),
    entry: join(core, 'dist/sandbox/worker/entry.js'),
    'compile-worker': join(core, 'dist/script/compile-worker.js'),
    'sandbox-host': join(cli, '../tools/dist/exec/sandbox/sandbox-host.js'),
  },
  platform: 'node',
  external: [/^node:/u, ...installed],
});
const { output } = await bundle.write({ dir: folder, format: 'esm', chunkFileNames: '[name]-[hash].js' });
await bundle.close();
writeFileSync(join(folder, 'LICENSES.txt'), licenses(output.flatMap((chunk) => chunk.moduleIds ?? [])));
cpSync(join(core, 'dist/sandbox/artefacts'), join(cli, 'artefacts'), { recursive: true });
cpSync(join(core, 'dist/script/type-library/guest.lib.d.ts'), join(cli, 'type-library/guest.lib.d.ts'));
console.log(`program: ${output.length} files, ${installed.join(', ')} beside them`);

/** The licences of the packages whose code is in the files, as they ask for. */
function licenses(modules) {
  const packages = modules.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/u.exec(id)?.[0]);
  return [...new Set(packages)]
    .filter((path) => path !== undefined)
    .toSorted((left, right) => (left < right ? -1 : 1))
    .map((path) => {
      const file = readdirSync(path).find((name) => /^licen[cs]e/iu.test(name));
      const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
      const text = file === undefined ? '' : readFileSync(join(path, file), 'utf8');
      return `${name} ${version} (${license})\n\n${text.trim()}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}

// Writes the program as a few files that start fast, with the engine beside them. Run after `tsc -b` and after
// the sandbox is built. The layout is what the bundled modules expect of their own neighbourhood: the files of core have
// the paths that they have in its `dist`, the database's thread is `./database-worker.js`, the process of exec's sandbox
// is `./sandbox-host.js`, the thread that reads web pages is `./read-page-worker.js`, the one for OpenAPI documents is
// `./read-document-worker.js`, the manifest is `../package.json`.
// The program itself is CommonJS: `start.cjs` keeps what V8 makes of such files (see there).
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
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
const program = await write('cjs', { main: join(cli, 'dist/main.js') });
const threads = await write('esm', {
  'sandbox/worker/entry': join(core, 'dist/sandbox/worker/entry.js'),
  'script/compile/compile-worker': join(core, 'dist/script/compile/compile-worker.js'),
  'database-worker': join(cli, '../service/dist/stores/database-worker.js'),
  'sandbox-host': join(cli, '../tools/dist/exec/sandbox/sandbox-host.js'),
  'read-document-worker': join(cli, '../mcp/dist/openapi/read-document-worker.js'),
  'read-page-worker': join(cli, '../tools/dist/web/read-page-worker.js'),
});
const output = [...program, ...threads];
writeFileSync(join(folder, 'start.cjs'), start(program));
// The engine is no module, and comes along all the same.
const engine = join(cli, '../../node_modules/quickjs-wasi/quickjs.wasm');
writeFileSync(join(folder, 'LICENSES.txt'), licenses([...output.flatMap((chunk) => chunk.moduleIds ?? []), engine]));
cpSync(join(core, 'dist/sandbox/artefacts'), join(folder, 'sandbox/artefacts'), { recursive: true });
cpSync(
  join(core, 'dist/script/check/type-library/guest.lib.d.ts'),
  join(folder, 'script/check/type-library/guest.lib.d.ts'),
);
rmSync(join(cli, 'page'), { recursive: true, force: true });
cpSync(join(cli, '../web/dist'), join(cli, 'page'), { recursive: true });
// The first command need not be slower than the next. What this keeps is for this very Node, and is not published.
spawnSync(process.execPath, [join(cli, 'bin/toolscript.js'), 'eval', '-e', 'return 1'], { stdio: 'ignore' });
console.log(`program: ${output.length} files, ${installed.join(', ')} beside them`);

async function write(format, input) {
  const extension = format === 'cjs' ? 'cjs' : 'js';
  const bundle = await rolldown({
    input,
    platform: 'node',
    external: [/^node:/u, ...installed],
    // Modules that are merged into the file of one of their importers can make two files need each other.
    experimental: { chunkOptimization: { mergeCommonChunks: false } },
  });
  const names = { entryFileNames: `[name].${extension}`, chunkFileNames: `[name]-[hash].${extension}` };
  const written = await bundle.write({ dir: folder, format, dynamicImportInCjs: false, ...names });
  await bundle.close();
  demandNoCircles(written.output);
  return written.output;
}

/** Of two files that load each other, the one that is loaded second finds the first unfinished. */
function demandNoCircles(chunks) {
  const left = new Map(chunks.map(({ fileName, imports = [] }) => [fileName, imports]));
  const isReady = (imports) => imports.every((name) => !left.has(name));
  for (;;) {
    const ready = [...left].filter(([, imports]) => isReady(imports));
    if (ready.length === 0) break;
    for (const [fileName] of ready) left.delete(fileName);
  }
  if (left.size > 0)
    throw new Error(`The bundle has files that load each other, among: ${[...left.keys()].join(', ')}`);
}

function start(chunks) {
  const hash = createHash('sha256');
  for (const { fileName, code } of chunks) hash.update(`${fileName}\n${code}\n`);
  return readFileSync(join(cli, 'dist/start.cjs'), 'utf8').replace('__BUILD__', hash.digest('hex').slice(0, 16));
}

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

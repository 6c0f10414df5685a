// `npm run test:packaging [-- --short] [-- --only NAME]`: packs every package, installs the files in a temporary
// folder, builds one program with each bundler, runs the output, and prints one row for each case. It needs the npm
// registry and takes some minutes. `--short` builds with esbuild and Vite only, and leaves out Mastra, the templates and the runtimes; NAME is a part of a case's name,
// or `packages`, `templates` or `runtimes`.
import { mkdtempSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aiSdkProgram, PAID } from './packaging/ai-sdk-case.mjs';
import { FULL, SHORT } from './packaging/bundle-cases.mjs';
import { mastraExample, mastraRefusal } from './packaging/mastra-case.mjs';
import { engineRefusal, missingEngine } from './packaging/engine-case.mjs';
import { makeProject, packAll } from './packaging/packages.mjs';
import { readmeExample } from './packaging/readme-case.mjs';
import {
  libraryLaws,
  runtimeProject,
  RUNTIMES,
  serviceRun,
  strictInstall,
  WORKER_LAWS,
  workerLaws,
} from './packaging/runtime-cases.mjs';
import { run } from './packaging/shell.mjs';
import { TEMPLATES, templateOutput } from './packaging/template-cases.mjs';
import { commonJs, publint, strictTypes, typesWrong } from './packaging/type-cases.mjs';
import { prepare } from './prepare.mjs';

/** Packages that are commands alone. */
const WITHOUT_TYPES = new Set(['toolscript', 'create-toolscript']);
const isShort = process.argv.includes('--short');
const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1] : '';
const folder = mkdtempSync(join(tmpdir(), 'toolscript-packaging-'));
const failures = [];
const projects = new Map();

prepare();
try {
  const packed = packAll(join(folder, 'packed'));
  for (const [name, { packed: size, unpacked, files }] of packed)
    console.log(`${name.padEnd(22)} ${kib(size)} packed ${kib(unpacked)} unpacked ${files.length} files`);
  const core = packed.get('@toolscript/core').file;
  const cases = (isShort ? SHORT : FULL).filter(({ name }) => name.includes(only));
  for (const one of cases) await tryBundler(one, projectFor(one.project ?? 'bundlers', cases, core));
  if ('engine'.includes(only)) await tryEngine(projectFor('bundlers', cases, core), '@toolscript/isolated-vm');
  if ('AI SDK 7'.includes(only))
    await row('AI SDK 7', 'compiles and runs', PAID, () => aiSdkProgram(join(folder, 'ai-sdk-7'), core));
  if (!isShort && (only === '' || only === 'packages')) await tryPackages(packed);
  if (!isShort && 'Mastra'.includes(only)) await tryMastra(core);
  if (!isShort && (only === '' || only === 'templates')) await tryTemplates(packed);
  if (!isShort && (only === '' || only === 'runtimes')) await tryRuntimes(packed);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (failures.length > 0) {
  console.error(`\n${failures.join('\n\n')}`);
  process.exit(1);
}

function projectFor(name, cases, core) {
  const known = projects.get(name);
  if (known !== undefined) return known;
  const tools = cases.filter(({ project = 'bundlers' }) => project === name).flatMap((one) => one.tools);
  const project = makeProject(join(folder, name.replace(' ', '-')), [core], tools);
  projects.set(name, project);
  return project;
}

async function tryBundler({ name, build, inPlace, elsewhere, expected }, project) {
  const empty = join(folder, 'elsewhere', name.replaceAll(/[^a-z0-9]+/giu, '-'));
  mkdirSync(empty, { recursive: true });
  const isBuilt = await row(name, 'builds', /^$/u, () => build(project) ?? '');
  if (!isBuilt) return;
  await row(name, 'runs in its project', expected.inPlace, () => inPlace(project));
  await row(name, 'runs elsewhere', expected.elsewhere, () => elsewhere(project, empty));
}

/** `absent`: the package that the project lacks. */
async function tryEngine(project, absent) {
  await row('isolated-vm', `without ${absent}`, missingEngine(absent), () => engineRefusal(project));
}

async function tryPackages(packed) {
  const files = [...packed.values()].map(({ file }) => file);
  const tools = ['typescript 5', 'typescript 7', '@arethetypeswrong/cli', 'publint'];
  const project = makeProject(join(folder, 'types'), [...files, '@types/node@20.19.43'], tools);
  for (const compiler of ['typescript-5', 'typescript-7'])
    for (const module of ['node16', 'nodenext'])
      await row(`CommonJS, ${compiler}, ${module}`, 'runs', /^completed 42$/u, () =>
        commonJs(project, compiler, module),
      );
  for (const compiler of ['typescript-5', 'typescript-7'])
    for (const resolution of ['nodenext', 'bundler'])
      await row(`declarations, ${compiler}, ${resolution}`, 'compile strictly', /^ok$/u, () =>
        strictTypes(project, compiler, resolution),
      );
  await tryEngine(project, 'isolated-vm');
  const { file: core } = packed.get('@toolscript/core');
  await row('README', 'runs, core alone', /^ok$/u, () => readmeExample(join(folder, 'readme'), core));
  const doctor = join(project, 'node_modules/.bin/toolscript');
  await row('toolscript', 'doctor', /Every required part works/u, () => run(doctor, ['doctor'], { cwd: project }));
  for (const [name, { file }] of packed) {
    await row(name, 'publint', /^ok$/u, () => publint(project, file));
    if (!WITHOUT_TYPES.has(name)) await row(name, 'attw', /^ok$/u, () => typesWrong(project, file));
  }
}

async function tryTemplates(packed) {
  for (const one of TEMPLATES) {
    const project = join(folder, `template-${one.name}`);
    await row(`template ${one.name}`, one.script, one.expected, () => templateOutput(project, one, packed));
  }
}

async function tryRuntimes(packed) {
  const files = ['core', 'client', 'tools', 'mcp', 'service', 'server'].map(
    (name) => packed.get(`@toolscript/${name}`).file,
  );
  const project = runtimeProject(join(folder, 'runtimes'), files);
  for (const runtime of RUNTIMES) {
    await row(runtime.name, 'library', runtime.library, () => libraryLaws(project, runtime));
    await row(runtime.name, 'server', runtime.service, () => serviceRun(project, runtime));
  }
  await row('node-oldest', 'npm --engine-strict', /added/u, () =>
    strictInstall(join(folder, 'strict'), project, files),
  );
  await row('workerd', 'client and stream', WORKER_LAWS, () => workerLaws(project));
}

async function tryMastra(core) {
  const refusal = mastraRefusal();
  if (refusal !== undefined) console.log(`skipped ${refusal}`);
  else await row('Mastra', 'compiles and runs', /^answer: /mu, () => mastraExample(join(folder, 'mastra'), core));
}

/** Runs a case and prints its row. Returns whether it succeeded. */
async function row(name, what, expected, act) {
  const label = `${name.padEnd(34)} ${what.padEnd(20)}`;
  try {
    const said = await act();
    if (!expected.test(said)) throw new Error(`The program did not print ${expected}. It printed: ${said}`);
    console.log(`ok      ${label} ${said.split('\n').at(-1).slice(0, 60)}`);
    return true;
  } catch (error) {
    failures.push(`${label} ${error.message}`);
    console.log(`FAILED  ${label}`);
    return false;
  }
}

function kib(bytes) {
  return `${Math.round(bytes / 1024)} KiB`.padStart(10);
}

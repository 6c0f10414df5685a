// Runtimes besides the Node.js of this machine run the packed packages: the oldest Node.js and newer ones, Bun and Deno run
// the library and a server; a Worker runs the client and `@toolscript/core/stream`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { npmCall } from '../prepare.mjs';
import { makeProject } from './packages.mjs';
import { answerOf, run } from './shell.mjs';

const programs = fileURLToPath(new URL('./runtimes/', import.meta.url));
const LIBRARY = /^9 of 9 laws hold$/u;
const STREAM = /^2 of 2 laws hold$/u;
const served = (...kinds) =>
  new RegExp(`^${kinds.map((kind) => `${kind} completed: It is paid back.`).join('\n')}$`, 'u');

const RUNTIME_TOOLS = ['node oldest', 'node 22', 'node 24', 'bun', 'deno', 'workerd', 'esbuild'];

/** The rows of each runtime: what it does, what it prints, and how it is started. */
export const RUNTIMES = [
  ...['node-oldest', 'node-22', 'node-24'].map((name) => ({
    name,
    command: (project) => [join(project, 'node_modules', name, 'bin/node')],
    stores: ['memory', 'file'],
  })),
  { name: 'bun', command: (project) => [join(project, 'node_modules/.bin/bun')], stores: ['memory', 'file'] },
  // The thread of the file needs `receiveMessageOnPort` over its parent's port, which Deno 2.9 refuses.
  { name: 'deno', command: (project) => [join(project, 'node_modules/.bin/deno'), 'run', '-A'], stores: ['memory'] },
].map((runtime) => ({ ...runtime, library: LIBRARY, service: served(...runtime.stores) }));

export function runtimeProject(folder, files) {
  return makeProject(folder, files, RUNTIME_TOOLS, programs);
}

export function libraryLaws(project, { command }) {
  const [program, ...args] = command(project);
  return run(program, [...args, 'laws.mjs'], { cwd: project });
}

export function serviceRun(project, { command, stores }) {
  const [program, ...args] = command(project);
  return run(program, [...args, 'service.mjs', ...stores], { cwd: project });
}

/** Every package installs on the oldest Node.js that it names, where npm refuses what the engine does not fit. */
export function strictInstall(folder, project, files) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "name": "tried", "private": true }');
  const [, [npm, ...args]] = npmCall(['install', '--engine-strict', '--no-audit', '--no-fund', ...files]);
  return run(join(project, 'node_modules/node-oldest/bin/node'), [npm, ...args], { cwd: folder });
}

export const WORKER_LAWS = STREAM;

/** A Worker uses a server of another process. */
export async function workerLaws(project) {
  bundle(project, 'worker.mjs', ['--conditions=worker']);
  writeFileSync(join(project, 'out/worker.capnp'), WORKER);
  const server = spawn(process.execPath, ['service.mjs', '--listen'], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = await once(createInterface(server.stdout), 'line');
    const query = new URLSearchParams(JSON.parse(line));
    return await answerOf(
      join(project, 'node_modules/.bin/workerd'),
      (port) => ['serve', 'out/worker.capnp', '--socket-addr', `http=127.0.0.1:${port}`],
      { cwd: project, path: `/?${query}` },
    );
  } finally {
    server.kill('SIGKILL');
  }
}

function bundle(project, file, options) {
  mkdirSync(join(project, 'out'), { recursive: true });
  const args = [file, '--bundle', '--format=esm', `--outfile=out/${file}`, '--log-level=error', ...options];
  run(join(project, 'node_modules/.bin/esbuild'), args, { cwd: project });
}

const WORKER = `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "laws", worker = .laws),
    (name = "internet", network = (allow = ["private"])),
  ],
  sockets = [(name = "http", http = (), service = "laws")],
);

const laws :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.mjs")],
  compatibilityDate = "2026-10-01",
);
`;

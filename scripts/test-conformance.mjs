// `npm run test:conformance [-- --short] [-- --only NAME]`: the scenarios of the official MCP conformance suite, from npm at a pinned
// version: client scenarios against a harness, server scenarios against `toolscript mcp --http`. A scenario that fails
// must be in `conformance/failures.mjs` with its reason, and one that is there must fail. The suite needs Node.js 22: with
// an older one, that comes from npm, too. What is tested runs with the Node.js of this command. `--short`: the client
// scenarios alone, or nothing, with the reason, where npm cannot install the suite.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installed } from './clients/installed.mjs';
import { FAILURES, OWN_TOOLS } from './conformance/failures.mjs';
import { prepare, root } from './prepare.mjs';

const SUITE = '@modelcontextprotocol/conformance@0.2.0-alpha.12';
const SUITE_NODE = { major: 22, version: '22.23.5' };
const TOKEN = 'a-token-of-the-conformance-suite';
/** The end of what the suite says about a scenario, in characters. */
const MAX_TEXT = 6_000;
const TIMEOUT_MS = 120_000;
const AT_A_TIME = 2;
const isShort = process.argv.includes('--short');
const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1] : '';

prepare();
const { suite, suiteNode } = installedSuite();
const client = join(root, 'scripts/conformance/client.mjs');
const unexpected = [];
const { client: clients, server: servers } = scenarios();
const applicable = servers.filter((name) => !OWN_TOOLS.test(name));
if (clients.length + applicable.length === 0) throw new Error('The suite lists no scenario of this name.');
await runAll(clients, ['client', '--command', `${process.execPath} ${client}`]);
if (!isShort && applicable.length > 0) await runServerScenarios();
if (unexpected.length > 0) {
  console.error(`\nNot as in scripts/conformance/failures.mjs: ${unexpected.join(', ')}`);
  process.exit(1);
}

/** The suite, and the Node.js that runs it. */
function installedSuite() {
  try {
    const suite = join(installed(SUITE), 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
    return { suite, suiteNode: nodeOfSuite() };
  } catch (error) {
    if (!isShort) throw error;
    console.log(`The MCP conformance suite is left out: ${error.message}`);
    process.exit(0);
  }
}

/** This Node.js, or one from npm if this one is too old for the suite. */
function nodeOfSuite() {
  if (Number(process.versions.node.split('.')[0]) >= SUITE_NODE.major) return process.execPath;
  const isWindows = process.platform === 'win32';
  const name = `node-${isWindows ? 'win' : process.platform}-${process.arch}`;
  const folder = join(installed(`${name}@${SUITE_NODE.version}`), 'node_modules', name, 'bin');
  return join(folder, isWindows ? 'node.exe' : 'node');
}

/** The names of the scenarios, as the suite lists them. */
function scenarios() {
  const { stdout, stderr } = spawnSync(suiteNode, [suite, 'list'], { encoding: 'utf8' });
  const parts = `${stdout}${stderr}`.split(/^(?=\w+(?: \w+)? scenarios)/mu);
  const named = (start) => {
    const part = parts.find((text) => text.startsWith(start)) ?? '';
    return [...part.matchAll(/^ {2}- (\S+)/gmu)].map(([, name]) => name).filter((name) => name.includes(only));
  };
  return { client: named('Client scenarios'), server: named('Server scenarios') };
}

async function runServerScenarios() {
  const gateway = await openGateway();
  try {
    await runAll(applicable, ['server', '--url', gateway.url]);
  } finally {
    gateway.close();
  }
}

async function runAll(names, args) {
  const rest = [...names];
  const next = async () => {
    for (let name = rest.shift(); name !== undefined; name = rest.shift()) report(name, await run(args, name));
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, next));
}

/** Whether the scenario passes, and what the suite says about it. */
function run(args, scenario) {
  const child = spawn(suiteNode, [suite, ...args, '--timeout', String(TIMEOUT_MS), '--scenario', scenario], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 1.5 * TIMEOUT_MS,
  });
  let text = '';
  for (const output of [child.stdout, child.stderr]) output.on('data', (chunk) => (text += chunk));
  return new Promise((resolve) => child.once('close', (code) => resolve({ passes: code === 0, text })));
}

function report(name, { passes, text }) {
  const reason = FAILURES[name];
  const isExpected = passes === (reason === undefined);
  console.log(`${passes ? 'ok    ' : 'FAILED'}  ${name}${reason === undefined ? '' : `  (${reason})`}`);
  if (isExpected) return;
  unexpected.push(name);
  console.log(text.slice(-MAX_TEXT).replaceAll(/^/gmu, '        '));
}

/** The gateway without servers, behind a proxy that adds the token, which the suite cannot send. */
async function openGateway() {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-conformance-'));
  const [home, workspace] = ['home', 'workspace'].map((name) => join(folder, name));
  for (const place of [home, workspace]) mkdirSync(place);
  const port = await freePort();
  const main = join(root, 'packages/cli/dist/main.js');
  const child = spawn(process.execPath, [main, 'mcp', '--http', `127.0.0.1:${port}`, '--cwd', workspace], {
    env: { ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home, TOOLSCRIPT_TOKEN: TOKEN },
    stdio: 'ignore',
  });
  const proxy = createServer((given, answer) => {
    const headers = { ...given.headers, authorization: `Bearer ${TOKEN}` };
    const forwarded = request(
      { port, host: '127.0.0.1', path: given.url, method: given.method, headers },
      (received) => {
        answer.writeHead(received.statusCode, received.headers);
        received.pipe(answer);
      },
    );
    forwarded.once('error', () => answer.destroy());
    answer.once('close', () => forwarded.destroy());
    given.pipe(forwarded);
  });
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${proxy.address().port}/mcp`;
  while (
    child.exitCode === null &&
    !(await fetch(url, { method: 'POST' }).then(
      ({ status }) => status < 500,
      () => false,
    ))
  )
    await new Promise((resolve) => setTimeout(resolve, 100));
  const close = () => {
    child.kill();
    proxy.close();
    proxy.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  };
  return { url, close };
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHarness } from '@toolscript/core';
import { connectMcpServers, fileCatalogue, fileShapes } from '@toolscript/mcp';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { absentRow, alternate } from '../measure.mjs';
import { SERVERS } from '../mcp-servers/servers.mjs';

export const name = 'mcp-servers';
export const ownResult = true;

const READY = {
  name: 'mcp-servers-ready',
  title: `${SERVERS.length} servers of npm: from the start to their tools`,
  unit: 'ms',
  better: 'lower',
};

/** Real servers: the time until their tools are there, the tokens of their tools, and the share of tools with a type. */
export async function measure({ effort }) {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-bench-'));
  try {
    const problem = install(folder);
    if (problem !== undefined) return [absentRow(READY, problem)];
    const place = { folder: join(folder, 'data'), chromium: findChromium() };
    mkdirSync(place.folder);
    const setting = { servers: entries(folder, place), folder, place };
    const typed = await typedRow(setting);
    return [await readyRow(setting, effort), await tokensRow(setting), typed];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Installs the pinned servers, without their scripts. Returns the reason if that is impossible. */
function install(folder) {
  const dependencies = Object.fromEntries(SERVERS.map(({ package: name, version }) => [name, version]));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
  try {
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--fetch-retries=0'];
    execFileSync('npm', ['install', ...flags], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], timeout: 300_000 });
    return undefined;
  } catch (error) {
    return `the servers cannot be installed from the registry (${/npm error (.*)/u.exec(String(error.stderr))?.[1] ?? error.code})`;
  }
}

function findChromium() {
  for (const program of ['chromium', 'google-chrome', 'chromium-browser'])
    try {
      return execFileSync('which', [program], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    } catch {
      // The next one may exist.
    }
  return undefined;
}

function entries(folder, place) {
  return Object.fromEntries(
    SERVERS.map(({ name, package: packageName, entry, arguments: more = () => [] }) => {
      const root = join(folder, 'node_modules', packageName);
      const program = join(root, entry ?? (packageName === '@playwright/mcp' ? 'cli.js' : 'dist/index.js'));
      return [name, { command: process.execPath, args: [program, ...more(place)], cwd: place.folder }];
    }),
  );
}

const connect = ({ servers }, options = {}) =>
  connectMcpServers({ mcpServers: servers }, { resources: false, environment: {}, ...options });

async function readyRow(setting, effort) {
  const catalogue = fileCatalogue(join(setting.folder, 'catalogue'));
  await (await connect(setting, { catalogue })).close();
  const ready = (options) => async () => {
    const began = performance.now();
    const mcp = await connect(setting, options);
    const tookMs = performance.now() - began;
    await mcp.close();
    return [tookMs];
  };
  return alternate(
    READY,
    [
      { name: 'toolscript, tools kept', role: 'ours', block: ready({ catalogue }) },
      { name: 'all servers started', role: 'baseline', block: ready({}) },
    ],
    effort.coldRounds,
  );
}

async function tokensRow(setting) {
  const row = {
    name: 'mcp-servers-tokens',
    title: `${SERVERS.length} servers of npm: what a prompt gets (o200k)`,
    unit: 'tokens',
    better: 'lower',
  };
  return withTools(setting, {}, (harness) => {
    const definitions = harness
      .tools()
      .map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    const count = (text) => [encode(text).length];
    return alternate(
      row,
      [
        { name: 'toolscript', role: 'ours', block: () => count(harness.instructions()) },
        { name: 'the definitions themselves', role: 'baseline', block: () => count(JSON.stringify(definitions)) },
      ],
      1,
    );
  });
}

/** The share of tools whose declaration has a type for the result, before and after one call of each. */
async function typedRow(setting) {
  const resultShapes = fileShapes(join(setting.folder, 'shapes'));
  const [before, called] = await withTools(setting, { resultShapes }, async (harness) => {
    const types = typesOf(harness);
    return [types, await callAll(harness, setting.place)];
  });
  const after = await withTools(setting, { resultShapes }, (harness) => typesOf(harness));
  const row = {
    name: 'mcp-servers-typed',
    title: 'tools of these servers with a type for their result, in the next process after one call of each',
    unit: '%',
    better: 'higher',
  };
  const share = (types) => () => [(100 * types.filter(({ type }) => type !== 'any').length) / types.length];
  const measured = await alternate(
    row,
    [
      { name: 'after one call', role: 'ours', block: share(after) },
      { name: 'as declared', role: 'baseline', block: share(before) },
    ],
    1,
  );
  return { ...measured, tables: [typesTable(before, after, called)] };
}

async function withTools(setting, options, use) {
  const harness = createHarness({ tools: [], expose: { mcp: true }, approvals: 'auto' });
  const mcp = await connect(setting, options);
  mcp.attach(harness);
  try {
    const missing = mcp.status().filter(({ state }) => state !== 'connected');
    if (missing.length > 0) throw new Error(missing.map(({ problem }) => problem).join('\n'));
    return await use(harness);
  } finally {
    await mcp.close();
    await harness.close();
  }
}

/** The server, and the type of the result as `describe` shows it, of each tool. */
function typesOf(harness) {
  return harness
    .catalog()
    .list()
    .map(({ name }) => ({
      server: name.split('.')[1],
      type: /\): Promise<(.*?)>;(?: \/\/.*)?$/mu.exec(harness.catalog().describe(name))?.[1] ?? 'declared',
    }));
}

/** Makes one call of each tool that has one. Returns the servers of the calls that completed. */
async function callAll(harness, place) {
  const completed = [];
  for (const { name, calls = () => [] } of SERVERS)
    for (const [tool, input] of calls(place)) {
      const { status } = await harness.callTool(`mcp.${name}.${tool}`, input);
      if (status === 'completed') completed.push(name);
    }
  return completed;
}

function typesTable(before, after, called) {
  const lines = SERVERS.map(({ name, package: packageName, version }) => {
    const of = (types) => types.filter(({ server }) => server === name);
    const typed = (types) => of(types).filter(({ type }) => type !== 'any');
    return [
      `${packageName} ${version}`,
      String(of(before).length),
      String(typed(before).length),
      String(called.filter((server) => server === name).length),
      String(typed(after).length),
      String(typed(after).filter(({ type }) => type !== 'string').length),
    ];
  });
  return [['server', 'tools', 'typed as declared', 'called', 'typed after', 'of them not only text'], ...lines];
}

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { alternate } from '../measure.mjs';
import { definitionsOf, SERVERS, TOOLS_OF_SERVER } from '../mcp-definitions.mjs';

const PROGRAM = fileURLToPath(new URL('../../packages/cli/bin/toolscript.js', import.meta.url));
const SERVER = fileURLToPath(new URL('../children/mcp-tools.mjs', import.meta.url));
const OF_ALL = new RegExp(`of ${SERVERS * TOOLS_OF_SERVER} tools`, 'u');

export const name = 'mcp-gateway';

/**
 * `toolscript mcp` in front of ten servers of a hundred tools: the time until a client has its tools, and their cost
 * for the client.
 */
export async function measure({ effort }) {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-bench-'));
  try {
    const config = join(folder, 'mcp.json');
    writeFileSync(config, JSON.stringify({ mcpServers: Object.fromEntries(serverEntries()) }));
    const { tools } = await toolsOfGateway(config, folder);
    return [await readyRow(config, folder, effort), await tokensRow(tools)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function serverEntries() {
  return Array.from({ length: SERVERS }, (_, index) => [
    `server_${index}`,
    { command: process.execPath, args: [SERVER, String(index)] },
  ]);
}

function readyRow(config, folder, effort) {
  const row = {
    name: 'mcp-gateway-ready',
    title: `${SERVERS} servers of ${TOOLS_OF_SERVER} tools: from the start of the gateway to its list of tools`,
    unit: 'ms',
    better: 'lower',
    limit: 2_000,
  };
  const block = async () => [(await toolsOfGateway(config, folder)).tookMs];
  return alternate(row, [{ name: 'toolscript', role: 'ours', block }], effort.coldRounds);
}

function tokensRow(tools) {
  const row = {
    name: 'mcp-gateway-tokens',
    title: `${SERVERS} servers of ${TOOLS_OF_SERVER} tools: what a client's prompt gets (o200k)`,
    unit: 'tokens',
    better: 'lower',
    limit: 2_500,
  };
  const count = (list) => [encode(JSON.stringify(list)).length];
  const all = Array.from({ length: SERVERS }, (_, index) => definitionsOf(index)).flat();
  return alternate(
    row,
    [
      { name: 'toolscript', role: 'ours', block: () => count(tools) },
      { name: 'the definitions themselves', role: 'baseline', block: () => count(all) },
    ],
    1,
  );
}

/** A client without an SDK, so that the measured time excludes the SDK. */
async function toolsOfGateway(config, folder) {
  const began = performance.now();
  const child = spawn(process.execPath, [PROGRAM, 'mcp', '--config', config], {
    cwd: folder,
    env: { PATH: process.env.PATH, XDG_CONFIG_HOME: `${folder}-own`, XDG_DATA_HOME: `${folder}-own` },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const answerTo = async (id) => {
    for (;;) {
      const { value } = await lines.next();
      const message = JSON.parse(value);
      if (message.id === id) return message.result;
    }
  };
  const clientInfo = { name: 'bench', version: '1.0.0' };
  send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
  await answerTo(1);
  send({ method: 'notifications/initialized' });
  send({ id: 2, method: 'tools/list' });
  const { tools } = await answerTo(2);
  const tookMs = performance.now() - began;
  assert.match(tools[0].description, OF_ALL, 'tools of a server are missing');
  const closed = once(child, 'close');
  child.stdin.end();
  await closed;
  rmSync(`${folder}-own`, { recursive: true, force: true });
  return { tools, tookMs };
}

// A user with an empty home folder, the command `toolscript`, and one MCP server.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root } from '../prepare.mjs';

/** The command `toolscript`. As a gateway, it also keeps what the client sends. */
const command = (requests) => `#!${process.execPath}
const { spawn } = require('node:child_process');
const { appendFileSync } = require('node:fs');
const args = process.argv.slice(2);
const isGateway = args.join(' ') === 'mcp';
const main = ${JSON.stringify(join(root, 'packages/cli/bin/toolscript.js'))};
const child = spawn(process.execPath, [main, ...args], { stdio: [isGateway ? 'pipe' : 'inherit', 'inherit', 'inherit'] });
if (isGateway) {
  process.stdin.on('data', (chunk) => appendFileSync(${JSON.stringify(requests)}, chunk));
  process.stdin.pipe(child.stdin);
  child.stdin.on('error', () => {});
}
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(code ?? 1));
`;

export class Place {
  #base = mkdtempSync(join(tmpdir(), 'toolscript-client-'));
  #requests = join(this.#base, 'requests.jsonl');
  home = join(this.#base, 'home');
  workspace = join(this.#base, 'workspace');
  /** Variables of the programs besides those of every user. */
  variables = {};

  constructor() {
    const bin = join(this.#base, 'bin');
    for (const folder of [this.home, this.workspace, bin]) mkdirSync(folder);
    writeFileSync(join(bin, 'toolscript'), command(this.#requests), { mode: 0o755 });
    const desk = { command: process.execPath, args: [join(root, 'scripts/clients/desk-server.mjs')] };
    this.write('.config/toolscript/mcp.json', { mcpServers: { desk } });
    const { PATH = '' } = process.env;
    // The program's own link runs with the Node.js that runs this test.
    this.variables = { PATH: [bin, dirname(process.execPath), PATH].join(':'), HOME: this.home };
  }

  /** What the client declared to the gateway last. `gatewayOffer` connects, too. */
  capabilities() {
    const lines = readFileSync(this.#requests, 'utf8').split('\n');
    const declared = lines.filter((line) => line !== '').map((line) => declaration(JSON.parse(line).params ?? {}));
    return declared.findLast(({ client }) => client !== undefined && client.name !== 'test')?.capabilities;
  }

  /** Writes a file of the home folder. */
  write(path, content) {
    const file = join(this.home, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content, undefined, 2));
  }

  /** Adds lines before the text of a file. */
  prepend(path, lines) {
    this.write(path, `${lines.join('\n')}\n${this.#read(path)}`);
  }

  /** Adds members to a file of JSON. */
  merge(path, members) {
    this.write(path, { ...JSON.parse(this.#read(path) || '{}'), ...members });
  }

  #read(path) {
    const file = join(this.home, path);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  /** Starts a program without input. `ended` has its status and its output. */
  start(command, args, { input = 'ignore', variables = {} } = {}) {
    const env = { ...this.variables, ...variables, LANG: 'C.UTF-8', TERM: 'dumb' };
    const child = spawn(command, args, { cwd: this.workspace, env, stdio: [input, 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    const ended = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (status, signal) => resolve({ status: status ?? signal, output }));
    });
    return { child, ended };
  }

  /** Runs a program to its end and returns its output. Throws if it fails. */
  async run(command, args, options) {
    const { status, output } = await this.start(command, args, options).ended;
    if (status === 0) return output;
    throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${output.slice(-2_000)}`);
  }

  remove() {
    rmSync(this.#base, { recursive: true, force: true });
  }
}

/** The client of a request and its capabilities: the older protocols declare them once, the newest in each request. */
function declaration({ clientInfo, capabilities, _meta: meta = {} }) {
  return {
    client: clientInfo ?? meta['io.modelcontextprotocol/clientInfo'],
    capabilities: capabilities ?? meta['io.modelcontextprotocol/clientCapabilities'],
  };
}

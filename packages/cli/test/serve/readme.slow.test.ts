import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cleanEnvironment } from '../support/program.js';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../../..');

const hasCurl = spawnSync('curl', ['--version']).status === 0;

let server: ChildProcess;
let home: string;
let firstLine: string;
const more: string[] = [];

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'toolscript-start-'));
  server = spawn(process.execPath, [join(root, 'scripts/start.mjs'), '--port', '0'], {
    env: cleanEnvironment({ HOME: home }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface(server.stdout!);
  lines.on('line', (line) => more.push(line));
  while (more.length < 4) await once(lines, 'line');
  firstLine = more[0]!;
});

afterAll(async () => {
  server.kill('SIGTERM');
  if (server.exitCode === null) await once(server, 'exit');
  rmSync(home, { recursive: true, force: true });
});

/** The block that the reader pastes. */
function pasted(): string {
  const page = readFileSync(join(root, 'docs/how-to/curl.md'), 'utf8');
  const block = /<!-- not run: packages\/cli\/test\/serve\/readme\.slow\.test\.ts runs it -->\n```sh\n(.*?)```/su.exec(
    page,
  );
  return block![1]!;
}

describe('npm start', () => {
  it('prints one URL with the token as its first line, and names the agent', () => {
    expect(firstLine).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=\S+$/u);
    expect(more.join('\n')).toContain('a scripted model. A real model needs a workspace and an API key');
  });

  it.skipIf(!hasCurl && process.env.CI === undefined)(
    'is the server of the lines of docs/how-to/curl.md: they submit, stream, approve and read the thread',
    () => {
      const [, url = '', token = ''] = /^(.*)\/#token=(.*)$/u.exec(firstLine)!;
      const script = pasted().replace(/^URL=.*$/mu, `URL=${url} TOKEN=${token}`);
      const { stdout, stderr, status } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
      expect(status, stderr).toBe(0);
      const [streamed = '', rest = ''] = stdout.split(/^\{"decision"|^\{"approvalId"/mu);
      expect(streamed).toContain('event: approval_requested');
      expect(streamed.match(/^event: response_done$/gmu)).toHaveLength(1);
      expect(rest).toContain('event: response_done');
      expect(rest).toContain('"status":"completed"');
      expect(rest).toContain('"signed":"demo"');
    },
  );
});

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { newFolder } from '@toolscript/testkit/folder';
import { describe, expect, it, onTestFinished } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** Neither a key of the user nor a port of another program. */
const env = {
  ...process.env,
  ANTHROPIC_API_KEY: '',
  OPENAI_API_KEY: '',
  PORT: '0',
  TOOLSCRIPT_TOKEN: 'a-token-of-the-test',
};

/** A project of a template, with the packages of this repository. */
function project(template: string): string {
  const folder = join(newFolder(), 'project');
  const command = join(root, 'packages/create-toolscript/bin/create-toolscript.js');
  expect(spawnSync(process.execPath, [command, folder, '--template', template]).status).toBe(0);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

describe('the templates, without a key', () => {
  it('has an agent that answers', () => {
    const { stdout, status } = spawnSync(process.execPath, ['--import', 'tsx', 'agent.ts'], {
      cwd: project('agent'),
      env,
      encoding: 'utf8',
    });
    expect(stdout).toContain('sendReminder: completed\nAda owes 165 euros.');
    expect(status).toBe(0);
  });

  it('has an Express app with a page and an agent', async () => {
    const app = spawn(process.execPath, ['--import', 'tsx', 'server.ts'], {
      cwd: project('express'),
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void app.kill('SIGKILL'));
    const [line] = (await once(createInterface(app.stdout), 'line')) as [string];
    const { origin } = new URL(line);
    expect(await (await fetch(`${origin}/agents/`)).text()).toContain('<base href="/agents/" />');
    const headers = { authorization: 'Bearer a-token-of-the-test', 'content-type': 'application/json' };
    const body = '{"prompt":"hello"}';
    const submitted = await fetch(`${origin}/agents/api/v2/submit`, { method: 'POST', headers, body });
    const { runId } = (await submitted.json()) as { runId: string };
    const stream = await fetch(`${origin}/agents/api/v2/stream/${runId}`, { headers });
    expect(await stream.text()).toContain('event: response_done');
    app.kill('SIGTERM');
    expect(await once(app, 'exit')).toEqual([0, null]);
  });

  it('has a gateway with the tools of its servers', () => {
    const { stdout, status } = spawnSync('npm', ['run', 'check'], {
      cwd: project('mcp-gateway'),
      env,
      encoding: 'utf8',
    });
    expect(stdout).toContain('tools.mcp.files.read_text_file');
    expect(stdout).toContain('tools.mcp.memory.read_graph');
    expect(status).toBe(0);
  });
});

import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { inProcess } from '../support/in-process.js';

/** The words that Bash offers for the last of these. */
async function completed(...words: string[]): Promise<string[]> {
  const { stdout } = await inProcess(['completion', 'bash']);
  const line = words.map((word) => `'${word}'`).join(' ');
  const program = `${stdout}\nCOMP_WORDS=(toolscript ${line}); COMP_CWORD=${words.length}; _toolscript; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout: offered, status } = spawnSync('bash', ['-c', program], { encoding: 'utf8' });
  expect(status).toBe(0);
  return offered.trim().split('\n');
}

describe('toolscript completion', () => {
  it.skipIf(process.platform === 'win32')('offers the commands and options of each command in Bash', async () => {
    expect(await completed('ru')).toEqual(['run', 'runs', 'rules']);
    expect(await completed('--ag')).toEqual(['--agent']);
    expect(await completed('mcp', 'l')).toEqual(['list', 'login']);
    expect(await completed('mcp', 'add', '--o')).toEqual(['--openapi']);
    expect(await completed('eval', '--approve', 'auto', '--js')).toEqual(['--json']);
  });

  it.each(['zsh', 'fish'])('has every command for %s', async (shell) => {
    const { stdout, status } = await inProcess(['completion', shell]);
    expect(status).toBe(0);
    for (const name of ['chat', 'resume', 'serve', 'mcp', 'completion']) expect(stdout).toContain(name);
  });

  it('refuses another shell', async () => {
    const { status, stderr } = await inProcess(['completion', 'tcsh']);
    expect(status).toBe(2);
    expect(stderr).toContain('bash, zsh, fish');
  });
});

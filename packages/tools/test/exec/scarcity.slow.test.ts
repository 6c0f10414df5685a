import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { sandboxProblem } from '@toolscript/testkit/exec-sandbox';
import { newFolder } from '@toolscript/testkit/folder';

/*
 * A host whose descriptors run out, and users and folders that the system does not know. Each test is a process of
 * its own, which would end with an error where an event had no listener.
 */

const module = (path: string): string => JSON.stringify(fileURLToPath(import.meta.resolve(path)));

function run(code: string, prefix: readonly string[], cwd: string, env: NodeJS.ProcessEnv): string {
  const whole = `
    import { openSync, closeSync } from 'node:fs';
    const { createExec } = await import(${module('#tools/exec/exec.js')});
    const { createWorkspace } = await import(${module('#tools/files/workspace.js')});
    ${code}`;
  const argv = [...prefix, process.execPath, '--input-type=module', '-e', whole];
  const { stdout, stderr, status } = spawnSync(argv[0]!, argv.slice(1), { cwd, env, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout;
}

describe.skipIf(process.platform === 'win32')('without free descriptors', () => {
  it.each([
    ['without a sandbox', 'off'],
    ['in the sandbox', 'on'],
  ])('a command %s fails with a sentence, the host survives, and the next one works', (_, sandbox) => {
    if (sandbox === 'on' && sandboxProblem !== undefined) return console.log(`Skipped: ${sandboxProblem.reason}`);
    const root = newFolder();
    const code = `
      const told = new Set();
      const workspace = createWorkspace({ roots: ${JSON.stringify(root)} });
      // From no free descriptor to more than a command needs: this covers every place that can lack one.
      for (let free = 0; free < 24; free += 1) {
        const exec = createExec(workspace, { sandbox: '${sandbox}' });
        const held = [];
        try { for (;;) held.push(openSync('/dev/null', 'r')); } catch {}
        for (let i = 0; i < free; i += 1) closeSync(held.pop());
        const failed = await exec({ command: ['true'] }).then(() => undefined, (error) => error);
        for (const one of held) closeSync(one);
        if (failed !== undefined) told.add(failed.code + ': ' + failed.message);
        if (free % 8 === 0) told.add('then ' + (await exec({ command: ['echo', 'works'] })).stdout.trim());
      }
      console.log(JSON.stringify([...told]));
      process.exit();`;
    const limited = ['sh', '-c', 'ulimit -n 600; exec "$@"', 'sh'];
    const told = JSON.parse(run(code, limited, '/', process.env)) as string[];
    expect(told).toContain('then works');
    expect(told.length).toBeGreaterThan(1);
    for (const text of told) expect(text).toMatch(/^(?:then works|ToolExecutionError: [^\n]+\.)$/);
  });
});

describe.skipIf(sandboxProblem !== undefined || process.platform !== 'linux')('a sandboxed command works', () => {
  const code = (root: string): string => `
    const result = await createExec(createWorkspace({ roots: ${JSON.stringify(root)} }))({ command: ['sh', '-c', 'echo x > made && cat made'] });
    console.log(result.stdout.trim() || result.stderr);`;

  it('if the current folder was removed', () => {
    const [root, gone] = [newFolder(), join(newFolder(), 'gone')];
    mkdirSync(gone);
    const remove = `const { chdir } = process; chdir(${JSON.stringify(gone)}); (await import('node:fs')).rmdirSync(${JSON.stringify(gone)});`;
    expect(run(remove + code(root), [], '/', process.env)).toBe('x\n');
  });

  it.each([
    ['is no folder', '/dev/null'],
    ['does not exist', '/nowhere'],
    ['is relative', 'here'],
    ['is empty', ''],
  ])('if the home %s', (_, home) => {
    expect(run(code(newFolder()), [], '/', { ...process.env, HOME: home, XDG_STATE_HOME: newFolder() })).toBe('x\n');
  });

  const unknown = ['setpriv', '--reuid=54321', '--regid=54321', '--clear-groups'];
  const can = spawnSync(unknown[0]!, [
    ...unknown.slice(1),
    process.execPath,
    '--check',
    fileURLToPath(import.meta.resolve('#tools/exec/exec.js')),
  ]);
  if (can.status !== 0) console.log('Skipped: no other user can be had here, or it cannot read this folder.');

  it.skipIf(can.status !== 0)('for a user without an account and without a home', () => {
    const root = newFolder();
    spawnSync('chown', ['54321:54321', root]);
    const { HOME, USER, LOGNAME, ...env } = process.env;
    expect([HOME, USER, LOGNAME].length).toBe(3);
    expect(run(code(root), unknown, '/', env)).toBe('x\n');
  });
});

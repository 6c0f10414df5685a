import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cleanEnvironment, finished, PROGRAM, start, toolscript } from '../support/program.js';
import { newFolder } from '@toolscript/testkit/folder';

const NO_HOME = { HOME: '/dev/null', XDG_CONFIG_HOME: '', XDG_DATA_HOME: '' };
const ONE_SENTENCE = /^toolscript: [^\n]+\n$/u;

describe.skipIf(process.platform === 'win32')(
  'a home that is not a folder (skipped on Windows, which has no /dev/null)',
  () => {
    it.each([['eval', '-e', 'return 1'], ['tools'], ['rules'], ['--version'], ['--help']])(
      'does not affect a command without a home: %s %s %s',
      async (...args) => {
        const { status, stderr } = await toolscript(args, { env: NO_HOME });
        expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      },
    );

    it.each([['trust'], ['approvals'], ['threads'], ['resume', 'scr_x'], ['replay', 'scr_x']])(
      'is one sentence and status 2 for a command that needs it: %s',
      async (...args) => {
        const { status, stdout, stderr } = await toolscript(args, { env: NO_HOME });
        expect({ status, stdout }, stderr).toEqual({ status: 2, stdout: '' });
        expect(stderr).toMatch(ONE_SENTENCE);
        expect(stderr).toContain('/dev/null/');
      },
    );

    it('is reported once by a script whose calls cannot be recorded, and none of them runs', async () => {
      const cwd = newFolder();
      const code = `for (const name of ['a', 'b']) await tools.writeFile({ path: name, content: '' }).catch(() => {});
await tools.writeFile({ path: 'c', content: '' });
return;`;
      const { status, stderr } = await toolscript(['eval', '--approve', 'auto', '-e', code], { cwd, env: NO_HOME });
      expect(status).toBe(1);
      expect(stderr).toMatch(ONE_SENTENCE);
      expect(stderr).toContain('set XDG_DATA_HOME');
      expect(['a', 'b', 'c'].filter((name) => existsSync(join(cwd, name)))).toEqual([]);
    });
  },
);

describe('a current folder that was deleted', () => {
  it.skipIf(process.platform === 'win32')(
    'is one sentence and status 2 for a command that works in a folder (skipped on Windows, which keeps it)',
    async () => {
      for (const args of [
        'eval -e 1',
        'eval -e 1 --cwd /',
        'tools',
        'trust',
        'threads',
        'threads --all',
        'rules',
        'run a.md',
        'chat hello',
      ]) {
        const { status, stdout, stderr } = await inDeletedFolder(args);
        expect({ status, stdout }, args).toEqual({ status: 2, stdout: '' });
        expect(stderr, args).toMatch(/^toolscript: The current folder was deleted[^\n]+\n$/u);
      }
      for (const args of ['--version', 'approvals', 'help']) expect((await inDeletedFolder(args)).status, args).toBe(0);
    },
  );
});

function inDeletedFolder(args: string) {
  const cwd = newFolder();
  const gone = join(cwd, 'gone');
  mkdirSync(gone);
  return finished(
    start('sh', ['-c', `cd gone && rmdir ../gone && exec "$0" "$@"`, process.execPath, PROGRAM, ...args.split(' ')], {
      cwd,
    }),
  );
}

/** A user that has no account here, as in many containers. */
const STRANGER = 54_321;

function asStranger(args: readonly string[], env: Record<string, string> = {}) {
  const cwd = newFolder();
  chmodSync(cwd, 0o777);
  const { HOME: _home, ...clean } = cleanEnvironment({ XDG_CONFIG_HOME: '', XDG_DATA_HOME: '' });
  const child = spawnSync(process.execPath, [PROGRAM, ...args], {
    cwd,
    env: { ...clean, ...env },
    uid: STRANGER,
    encoding: 'utf8',
  });
  return { status: child.status, stdout: child.stdout, stderr: child.stderr };
}

const canBeStranger = process.getuid?.() === 0 && asStranger(['--version']).status === 0;

describe.skipIf(!canBeStranger)('a user without an account (skipped where the tests may not become one)', () => {
  it('gets the advice to set HOME if it is not set, and needs it for nothing else', () => {
    const { status, stdout, stderr } = asStranger(['eval', '-e', 'return 1']);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(ONE_SENTENCE);
    expect(stderr).toContain('Set HOME to');
    expect(asStranger(['--help']).status).toBe(0);
    expect(asStranger(['doctor']).stdout).toContain('Set HOME to');
  });

  it('can use a read-only home as long as nothing is stored', () => {
    const home = newFolder();
    chmodSync(home, 0o755);
    const env = { HOME: home };
    expect(asStranger(['eval', '-e', 'return 1'], env)).toMatchObject({ status: 0, stderr: '' });
    const trust = asStranger(['trust'], env);
    expect(trust).toMatchObject({ status: 2, stdout: '' });
    expect(trust.stderr).toMatch(ONE_SENTENCE);
  });
});

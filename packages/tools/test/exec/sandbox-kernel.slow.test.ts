import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { readOnlyKernelFiles } from '#tools/exec/sandbox/kernel-files.js';
import { sandboxProblem } from '@toolscript/testkit/exec-sandbox';
import { newFolder } from '@toolscript/testkit/folder';

/*
 * The possible effects of a sandboxed command on the kernel and on the permissions of files, as root and as an
 * ordinary user. Only harmless settings are written, and only with their current value.
 */

const ORDINARY = 65_534;
/** Settings of the command's own namespace for processes, which it may have. */
const NOT_ITS_OWN = '! -name ns_last_pid ! -name pid_max';
const isRoot = process.geteuid?.() === 0;
const users: [string, string[], string | undefined][] = [
  ['root', [], isRoot ? undefined : 'these tests do not run as root'],
  ['an ordinary user', isRoot ? asOrdinary() : [], undefined],
];

function asOrdinary(): string[] {
  return ['setpriv', `--reuid=${ORDINARY}`, `--regid=${ORDINARY}`, '--clear-groups'];
}

/** The reason why this user cannot run the tests; undefined if they can run. */
function obstacle(prefix: readonly string[], reason: string | undefined): string | undefined {
  if (sandboxProblem !== undefined) return sandboxProblem.reason;
  if (reason !== undefined || prefix.length === 0) return reason;
  const node = fileURLToPath(import.meta.resolve('#tools/exec/exec.js'));
  const { status } = spawnSync(prefix[0]!, [...prefix.slice(1), process.execPath, '--check', node]);
  return status === 0 ? undefined : 'no other user can be had here, or it cannot read this folder';
}

it.runIf(process.platform === 'linux')(
  "root's sandbox makes the kernel's settings read-only, and does not start without that",
  () => {
    expect(readOnlyKernelFiles(0).join(' ')).toContain('--ro-bind-try /proc/sys /proc/sys');
    expect(readOnlyKernelFiles(1000)).toEqual([]);
    expect(sandboxProblem?.reason ?? '').not.toContain('/proc/sys');
  },
);

const module = (path: string): string => JSON.stringify(fileURLToPath(import.meta.resolve(path)));

describe.each(users)('a sandboxed command of %s', (_, prefix, impossible) => {
  const reason = obstacle(prefix, impossible);
  if (reason !== undefined) console.log(`Skipped: ${reason}.`);
  let folder: string;

  beforeAll(() => {
    folder = newFolder({ 'project/program': '#!/bin/sh\n', 'home/x': '' });
    chmodSync(folder, 0o755);
    if (prefix.length > 0)
      for (const name of ['project', 'project/program', 'home']) chownSync(join(folder, name), ORDINARY, ORDINARY);
  });

  /** Runs commands in the sandbox, all as one user's process; returns their results. */
  function run(...commands: string[][]): { exitCode: number; stdout: string; stderr: string }[] {
    const code = `
      const { createExec } = await import(${module('#tools/exec/exec.js')});
      const { createWorkspace } = await import(${module('#tools/files/workspace.js')});
      const exec = createExec(createWorkspace({ roots: ${JSON.stringify(join(folder, 'project'))} }));
      const results = [];
      for (const command of ${JSON.stringify(commands)}) results.push(await exec({ command }));
      process.stdout.write(JSON.stringify(results));`;
    const argv = [...prefix, process.execPath, '--input-type=module', '-e', code];
    const env = { PATH: process.env['PATH'], HOME: join(folder, 'home') };
    return JSON.parse(execFileSync(argv[0]!, argv.slice(1), { env, cwd: '/', encoding: 'utf8' })) as never;
  }

  it.skipIf(reason !== undefined)('cannot write the settings of the kernel', () => {
    const [written, writable] = run(
      ['sh', '-c', 'v=$(cat /proc/sys/vm/swappiness) && echo "$v" > /proc/sys/vm/swappiness'],
      [
        'sh',
        '-c',
        `find /proc/sys /proc/irq /proc/bus /proc/fs /proc/acpi /proc/driver /proc/mtrr /proc/sysrq-trigger /sys -type f -writable ${NOT_ITS_OWN} 2>/dev/null | head -3`,
      ],
    );
    expect(written!.exitCode).not.toBe(0);
    expect(writable!.stdout).toBe('');
  });

  it.skipIf(reason !== undefined)(
    'cannot write them through a second /proc, and cannot freeze or kill by a control group',
    () => {
      const [second, group] = run(
        [
          'sh',
          '-c',
          `mkdir -p /tmp/p && unshare -Urmpf sh -c "mount -t proc proc /tmp/p && find /tmp/p/sys/kernel /tmp/p/sys/vm -type f -writable ${NOT_ITS_OWN} | head -3; cat /tmp/p/sys/vm/swappiness > /tmp/p/sys/vm/swappiness && echo written"`,
        ],
        ['sh', '-c', 'mkdir -p /tmp/c && unshare -UrmC sh -c "mount -t cgroup2 none /tmp/c && echo mounted"'],
      );
      expect(second!.stdout).toBe('');
      expect(group!.stdout).toBe('');
    },
  );

  it.skipIf(reason !== undefined)('cannot leave a file that runs with the rights of its owner', () => {
    const node = (code: string): string[] => [process.execPath, '-e', code];
    const results = run(
      ['chmod', '4755', 'program'],
      ['chmod', 'g+s', 'program'],
      node("fs.fchmodSync(fs.openSync('program'), 0o4755)"),
      node("fs.writeFileSync('made', '', { mode: 0o4755 })"),
      ['install', '-m', '4755', 'program', 'installed'],
      ['chmod', '700', 'program'],
    );
    expect(results.map(({ exitCode }) => exitCode === 0)).toEqual([false, false, false, false, false, true]);
    expect(statSync(join(folder, 'project/program')).mode & 0o7777).toBe(0o700);
    for (const name of ['made', 'installed'])
      expect((statSync(join(folder, 'project', name), { throwIfNoEntry: false })?.mode ?? 0) & 0o6000).toBe(0);
  });

  it.skipIf(reason !== undefined || spawnSync('perl', ['-v']).status !== 0)(
    'has no socket of a virtual machine',
    () => {
      const open = (family: number): string[] => [
        'perl',
        '-e',
        `socket(my $s, ${family}, 1, 0) or die $!; print "open"`,
      ];
      const [internet, machine] = run(open(2), open(40));
      expect(internet!.stdout).toBe('open');
      expect(machine!.stdout).toBe('');
    },
  );
});

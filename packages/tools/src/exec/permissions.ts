import { realpathSync } from 'node:fs';
import { basename } from 'node:path';
import { visible } from '../files/path-rules.js';
import { innermostRoot, type Workspace } from '../files/workspace.js';
import { quoteCommand } from './command-line.js';
import { findProgram } from './program.js';

/*
 * The permissions of a command. Approval rules are matched against them.
 *
 * `exec:npm test` is the command itself. That text does not always determine what runs: the program may be a shell, may
 * run another program or may be inside the workspace, or a variable may change what the program loads. In these cases,
 * the call also has a permission `indirect:…`. An approving rule must cover all permissions of a call, so no rule for
 * `exec:…` approves a call with a permission `indirect:…`. A denying rule needs to match only one permission, so a rule
 * that denies the text still applies.
 */

/** Programs that execute their arguments, their input or a file. */
const RUNNERS = new Set(
  `sh bash dash ash zsh ksh mksh fish csh tcsh pwsh powershell cmd busybox toybox env xargs parallel
  eval exec command builtin time watch entr script expect find sudo doas su runuser pkexec setpriv
  capsh chroot unshare nsenter bwrap setarch nice ionice chrt taskset numactl prlimit choom timeout
  nohup setsid stdbuf flock unbuffer strace ltrace gdb lldb perf valgrind catchsegv faketime fakeroot
  dbus-run-session xvfb-run ssh at batch crontab systemd-run tmux screen start-stop-daemon run-parts`.split(/\s+/),
);

export interface RuledCommand {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>> | undefined;
}

export function commandPermissions(workspace: Workspace, { command, env = {} }: RuledCommand): string[] {
  const permissions = [`exec:${quoteCommand(command)}`, ...indirections(workspace, command)];
  // defence: variables-are-indirect
  permissions.push(...Object.keys(env).map((name) => `indirect:variable ${visible(name)}`));
  return permissions;
}

/** The permissions of a shell line. Because of the second one, no rule for `exec:…` or `shell:…` approves the line. */
export function shellPermissions(line: string): string[] {
  return [`shell:${visible(line)}`, 'indirect:shell'];
}

function indirections(workspace: Workspace, command: readonly string[]): string[] {
  const program = command[0] ?? '';
  // defence: invisible-characters-are-indirect
  if (command.some((argument) => visible(argument) !== argument)) return ['indirect:invisible characters'];
  const name = basename(program.replaceAll('\\', '/'))
    .toLowerCase()
    .replace(/\.(?:exe|cmd|bat)$/, '');
  // defence: runners-are-indirect
  if (RUNNERS.has(name)) return [`indirect:${name}`];
  // A rule is written for the program that the name means; a path may lead to another program with the same name.
  // defence: paths-are-indirect
  if (/[/\\]/.test(program)) return [`indirect:path ${program}`];
  // defence: programs-in-the-workspace-are-indirect
  return isInWorkspace(workspace, program) ? [`indirect:program in the workspace ${program}`] : [];
}

function isInWorkspace(workspace: Workspace, program: string): boolean {
  const file = findProgram(program, process.env['PATH'] ?? '', workspace.roots[0]!.realPath);
  if (file === undefined) return false;
  try {
    return innermostRoot(workspace, file) !== undefined || innermostRoot(workspace, realpathSync(file)) !== undefined;
  } catch {
    return true;
  }
}

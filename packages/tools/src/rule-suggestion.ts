import { findApprovalRule } from '@toolscript/core';
import type { ApprovalRule, JsonValue, Tool } from '@toolscript/core/protocol';
import { commandRules } from './approval-presets.js';
import { visible } from './files/path-rules.js';

/*
 * The meaning of "always allow this" for a call: the narrowest rules that a user would expect. They are shown in one
 * line before they are stored, and the library matches them like all other rules.
 *
 * No rule is suggested for calls that no safe rule can express: commands through a shell or another program
 * (`indirect:…`), texts with `*`, which a rule would treat as a pattern, and texts too long to read.
 */

export interface RuleSuggestion {
  /** A summary of the rules in one line that is safe to show. */
  readonly covers: string;
  /** The rules. All of them approve, and name their tool. */
  readonly rules: readonly ApprovalRule[];
}

const MAX_SHOWN = 300;

/**
 * Commands that their first words identify: program, subcommand and, for `run *` and `task *`, the script's name. With
 * each one, what may follow: a rule for the first words would allow it too. Other commands are remembered only word for
 * word.
 */
const SUBCOMMANDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  git: {
    add: '--all',
    blame: '--contents FILE',
    branch: '-D main',
    checkout: '-- .',
    commit: '--amend --no-edit',
    describe: '--all',
    diff: '--output=FILE',
    log: '--output=FILE',
    'ls-files': '--others',
    'ls-tree': '-r HEAD',
    restore: '.',
    'rev-parse': '--git-dir',
    shortlog: '--output=FILE',
    show: '--output=FILE',
    stash: 'clear',
    status: '--ignored',
    switch: '--discard-changes main',
    tag: '-d NAME',
  },
  npm: { ci: '--prefix FOLDER', test: '--prefix FOLDER', 'run *': '--prefix FOLDER' },
  pnpm: { test: '--dir FOLDER', 'run *': '--dir FOLDER' },
  // The command `run` of these programs can start any program.
  yarn: { test: '--cwd FOLDER' },
  bun: { test: '--preload FILE' },
  deno: { check: '--config FILE', fmt: '--config FILE', lint: '--fix', test: '--allow-all', 'task *': '--cwd FOLDER' },
  cargo: {
    bench: '--config FILE',
    build: '--config FILE',
    check: '--config FILE',
    clippy: '--fix',
    doc: '--config FILE',
    run: '--config FILE',
    test: '--config FILE',
  },
  go: { test: '-exec PROGRAM' },
  dotnet: { build: '--output FOLDER', format: '--include FOLDER', test: '--output FOLDER' },
  mvn: { compile: '-f FILE', package: '-f FILE', test: '-f FILE', verify: '-f FILE' },
  make: { '*': 'SHELL=PROGRAM' },
};
const PLAIN_WORD = /^[A-Za-z0-9][\w.:-]*$/;

/** The rules that would allow calls like this one, the narrowest first; empty if no suggestion is possible. */
export function suggestRules(tool: Tool, input: JsonValue): RuleSuggestion[] {
  // The rules must cover the call that the user saw.
  return suggestions(tool, input).filter(
    ({ covers, rules }) => covers.length <= MAX_SHOWN && findApprovalRule(rules, tool, input) !== undefined,
  );
}

function suggestions(tool: Tool, input: JsonValue): RuleSuggestion[] {
  const permissions = tool.permissions === undefined ? [] : callPermissions(tool, input);
  if (permissions === undefined || permissions.some((permission) => permission.includes('*'))) return [];
  if (permissions.some((permission) => permission.startsWith('indirect:'))) return [];
  const [first] = permissions;
  if (first?.startsWith('exec:')) return commandSuggestions(tool.name, first.slice('exec:'.length), input);
  if (first !== undefined && permissions.every((permission) => permission.startsWith('write:')))
    return writeSuggestions(
      tool.name,
      permissions.map((permission) => permission.slice('write:'.length)),
    );
  return [{ covers: `every call to ${tool.name}`, rules: [{ tool: tool.name, action: 'approve' }] }];
}

function callPermissions(tool: Tool, input: JsonValue): readonly string[] | undefined {
  try {
    return tool.permissions?.(input as never);
  } catch {
    return undefined;
  }
}

/** The command as it is, then its first words with an example of what may follow. */
function commandSuggestions(tool: string, line: string, input: JsonValue): RuleSuggestion[] {
  const exact: RuleSuggestion = {
    covers: `exactly the command \`${line}\``,
    rules: [{ tool, permission: `exec:${line}`, action: 'approve' }],
  };
  const { command } = input as { command?: unknown };
  const known = Array.isArray(command) && tool === 'exec' ? knownPrefix(command as string[]) : undefined;
  if (known === undefined) return [exact];
  const { prefix, follows } = known;
  return [
    exact,
    {
      covers: `every command that begins with \`${prefix}\`, whatever follows, such as \`${prefix} ${follows}\``,
      rules: commandRules({ allow: [prefix] }),
    },
  ];
}

/** The first words that identify a command, and an example of what may follow. */
function knownPrefix([program = '', first = '', second = '']: readonly string[]):
  | { readonly prefix: string; readonly follows: string }
  | undefined {
  if (!Object.hasOwn(SUBCOMMANDS, program) || !PLAIN_WORD.test(first)) return undefined;
  const subcommands = new Map(Object.entries(SUBCOMMANDS[program]!));
  // A star stands for any name: after the previous word, or directly after the program.
  const [script, plain] = [subcommands.get(`${first} *`), subcommands.get(first) ?? subcommands.get('*')];
  if (plain !== undefined) return { prefix: `${program} ${first}`, follows: plain };
  if (script === undefined || !PLAIN_WORD.test(second)) return undefined;
  return { prefix: `${program} ${first} ${second}`, follows: script };
}

/** The rule for one file at the top of the workspace, for the common folder of all files, or for every file. */
function writeSuggestions(tool: string, paths: readonly string[]): RuleSuggestion[] {
  // Paths in other roots or outside the workspace are absolute or lead upwards.
  if (paths.some((path) => /^(?:\/|[A-Za-z]:)/.test(path) || path.split('/').includes('..'))) return [];
  const folder = sharedFolder(paths);
  const isOneFile = folder === '' && new Set(paths).size === 1;
  const pattern = isOneFile ? paths[0]! : folder === '' ? '*' : `${folder}/*`;
  const files = isOneFile ? `the file ${paths[0]!}` : folder === '' ? 'any file' : `files below ${folder}/`;
  return [
    { covers: `${tool} on ${visible(files)}`, rules: [{ tool, permission: `write:${pattern}`, action: 'approve' }] },
  ];
}

/** The common folder of all paths; '' for the workspace itself. */
function sharedFolder(paths: readonly string[]): string {
  const [first, ...others] = paths.map((path) => path.split('/').slice(0, -1));
  const length = first!.findIndex((name, index) => others.some((other) => other[index] !== name));
  return first!.slice(0, length === -1 ? undefined : length).join('/');
}

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
 * Commands that their first words identify: program, subcommand and, for `run` and `task`, the script's name. Either
 * they run the workspace's own code regardless of the rest, or the rest cannot name a program to run. Other commands
 * are remembered word for word.
 */
const SUBCOMMANDS: Readonly<Record<string, string>> = {
  git: 'add blame branch checkout commit describe diff log ls-files ls-tree restore rev-parse shortlog show stash status switch tag',
  npm: 'ci test run *',
  pnpm: 'test run *',
  // The command `run` of these programs can start any program.
  yarn: 'test',
  bun: 'test',
  deno: 'check fmt lint test task *',
  cargo: 'bench build check clippy doc run test',
  go: 'test',
  dotnet: 'build format test',
  mvn: 'compile package test verify',
  make: '*',
};
const PLAIN_WORD = /^[A-Za-z0-9][\w.:-]*$/;

/** The rules that would allow calls like this one; undefined if no suggestion is possible. */
export function suggestRule(tool: Tool, input: JsonValue): RuleSuggestion | undefined {
  const suggestion = suggest(tool, input);
  if (suggestion === undefined || suggestion.covers.length > MAX_SHOWN) return undefined;
  // The rules must cover the call that the user saw.
  return findApprovalRule(suggestion.rules, tool, input) === undefined ? undefined : suggestion;
}

function suggest(tool: Tool, input: JsonValue): RuleSuggestion | undefined {
  const permissions = tool.permissions === undefined ? [] : permissionsOf(tool, input);
  if (permissions === undefined || permissions.some((permission) => permission.includes('*'))) return undefined;
  if (permissions.some((permission) => permission.startsWith('indirect:'))) return undefined;
  const [first] = permissions;
  if (first?.startsWith('exec:')) return commandSuggestion(tool.name, first.slice('exec:'.length), input);
  if (first !== undefined && permissions.every((permission) => permission.startsWith('write:')))
    return writeSuggestion(
      tool.name,
      permissions.map((permission) => permission.slice('write:'.length)),
    );
  return { covers: `every call to ${tool.name}`, rules: [{ tool: tool.name, action: 'approve' }] };
}

function permissionsOf(tool: Tool, input: JsonValue): readonly string[] | undefined {
  try {
    return tool.permissions?.(input as never);
  } catch {
    return undefined;
  }
}

function commandSuggestion(tool: string, line: string, input: JsonValue): RuleSuggestion | undefined {
  const { command } = input as { command?: unknown };
  const prefix = Array.isArray(command) ? prefixOf(command as string[]) : undefined;
  if (prefix !== undefined && tool === 'exec')
    return {
      covers: `every command that begins with \`${prefix}\`, whatever follows`,
      rules: commandRules({ allow: [prefix] }),
    };
  return {
    covers: `exactly the command \`${line}\``,
    rules: [{ tool, permission: `exec:${line}`, action: 'approve' }],
  };
}

function prefixOf([program = '', ...rest]: readonly string[]): string | undefined {
  if (!Object.hasOwn(SUBCOMMANDS, program)) return undefined;
  const known = SUBCOMMANDS[program]!.split(' ');
  const [first, second] = rest;
  if (first === undefined || !PLAIN_WORD.test(first)) return undefined;
  // A star stands for any name: after the previous word, or directly after the program.
  if (known[0] === '*') return `${program} ${first}`;
  const at = known.indexOf(first);
  if (at === -1) return undefined;
  if (known[at + 1] !== '*') return `${program} ${first}`;
  return second !== undefined && PLAIN_WORD.test(second) ? `${program} ${first} ${second}` : undefined;
}

/** The rule for one file at the top of the workspace, for the common folder of all files, or for every file. */
function writeSuggestion(tool: string, paths: readonly string[]): RuleSuggestion | undefined {
  // Paths in other roots or outside the workspace are absolute or lead upwards.
  if (paths.some((path) => /^(?:\/|[A-Za-z]:)/.test(path) || path.split('/').includes('..'))) return undefined;
  const folder = sharedFolder(paths);
  const isOneFile = folder === '' && new Set(paths).size === 1;
  const pattern = isOneFile ? paths[0]! : folder === '' ? '*' : `${folder}/*`;
  const files = isOneFile ? `the file ${paths[0]!}` : folder === '' ? 'any file' : `files below ${folder}/`;
  return {
    covers: `${tool} on ${visible(files)}`,
    rules: [{ tool, permission: `write:${pattern}`, action: 'approve' }],
  };
}

/** The common folder of all paths; '' for the workspace itself. */
function sharedFolder(paths: readonly string[]): string {
  const [first, ...others] = paths.map((path) => path.split('/').slice(0, -1));
  const length = first!.findIndex((name, index) => others.some((other) => other[index] !== name));
  return first!.slice(0, length === -1 ? undefined : length).join('/');
}

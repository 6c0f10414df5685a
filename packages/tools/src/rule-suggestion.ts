import { findApprovalRule } from '@toolscript/core';
import type { ApprovalRule, JsonValue, Tool } from '@toolscript/core/protocol';
import { commandRules } from './approval-presets.js';
import { visible } from './files/path-rules.js';

/*
 * What "always allow this" means for a call: the narrowest rules that a person would expect. They are said in one
 * line before anything is kept, and are matched by the library like all other rules.
 *
 * Nothing is suggested where no rule could say it: commands through a shell or another program (`indirect:…`), texts
 * that hold `*`, which a rule would read as a pattern, and texts too long to be read.
 */

export interface RuleSuggestion {
  /** What the rules let pass, in one line that is safe to show. */
  readonly covers: string;
  /** All approve, and name their tool. */
  readonly rules: readonly ApprovalRule[];
}

const MAX_SHOWN = 300;

/**
 * Commands for which the first words are enough: program, subcommand and, for `run`, the name of what is run. Either
 * they run the workspace's own code whatever follows, or what follows names no program to run. Others are
 * remembered word for word.
 */
const SUBCOMMANDS: Readonly<Record<string, string>> = {
  git: 'add blame branch checkout commit describe diff log ls-files ls-tree restore rev-parse shortlog show stash status switch tag',
  npm: 'ci test run *',
  pnpm: 'test run *',
  // Their `run` starts any program, too.
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

/** The rules that would let such calls pass; undefined where none can be suggested. */
export function suggestRule(tool: Tool, input: JsonValue): RuleSuggestion | undefined {
  const suggestion = suggest(tool, input);
  if (suggestion === undefined || suggestion.covers.length > MAX_SHOWN) return undefined;
  // What is kept must cover what was seen.
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
  return { covers: `every call of ${tool.name}`, rules: [{ tool: tool.name, action: 'approve' }] };
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
  // A star stands for any name: behind the word before it, or right behind the program.
  if (known[0] === '*') return `${program} ${first}`;
  const at = known.indexOf(first);
  if (at === -1) return undefined;
  if (known[at + 1] !== '*') return `${program} ${first}`;
  return second !== undefined && PLAIN_WORD.test(second) ? `${program} ${first} ${second}` : undefined;
}

/** One file at the top of the workspace, the folder that all files share, or every file. */
function writeSuggestion(tool: string, paths: readonly string[]): RuleSuggestion | undefined {
  // What lies in another root, or outside, is named by its absolute path or leads up.
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

/** '' for the workspace itself. */
function sharedFolder(paths: readonly string[]): string {
  const [first, ...others] = paths.map((path) => path.split('/').slice(0, -1));
  const length = first!.findIndex((name, index) => others.some((other) => other[index] !== name));
  return first!.slice(0, length === -1 ? undefined : length).join('/');
}

import { failure } from '../failure.js';
import { quotePath } from '../files/path-rules.js';

/*
 * Models wrap a patch in shell or chat syntax. Simple rules remove the wrapping. Nothing of it is executed or obeyed
 * except `cd DIR &&`, which sets the folder at which paths start. If the wrapping is a shell command, shell-command.ts
 * verifies the result with bash's own grammar.
 */

const COMMAND = /^(?:cd\s+(?<directory>.*\S)\s*&&\s*)?(?:apply_patch|applypatch)\s+<<-?\s*(['"]?)(?<word>\w+)\2\s*$/;
/** Maximum number of characters of a command line, because matching a longer line could take long. */
const MAX_COMMAND_CHARACTERS = 5_000;
const BARE_HEREDOC = /^<<-?\s*(['"]?)(?<word>[A-Za-z_]\w*)\1\s*$/;
/** Maximum number of wrappings. It allows a heredoc in a fence in a heredoc. Deeper nesting is not meaningful. */
const MAX_WRAPPINGS = 4;
const FENCE = /^(`{3,}|~{3,}(?!~))[^`]*$/;
const WORD_PART =
  /'(?<single>[^']*)'|"(?<double>(?:[^"\\$`]|\\.)*)"|\\(?<escaped>.)|(?<plain>[^\s'"\\$`|&;<>()*?[\]{}#~!])/gsy;

export const PATCH_EXAMPLE = [
  '*** Begin Patch',
  '*** Update File: src/a.ts',
  '@@',
  '-old line',
  '+new line',
  '*** End Patch',
].join('\n');

/** The patch's own lines and their position. */
export interface PatchText {
  /** The lines without their line endings; CRLF counts as one line ending. */
  readonly lines: readonly string[];
  /** Number of lines of the given text before `lines[0]`. */
  readonly skipped: number;
  /** Number of blank lines that were removed after the patch. In a unified diff they may be context lines. */
  readonly blanksAfter?: number | undefined;
  /** The folder of a `cd DIR &&` before the patch. */
  readonly directory?: string | undefined;
}

/** Removes the blank lines, heredocs and code fences around a patch. */
export function unwrapPatch(text: string): PatchText {
  let patch = trimBlank({ lines: text.split(/\r?\n/), skipped: 0 });
  for (let depth = 0; depth < MAX_WRAPPINGS; depth += 1) {
    const inner = withoutFence(patch) ?? withoutHeredoc(patch);
    if (inner === undefined) break;
    patch = trimBlank(inner);
  }
  return patch;
}

/** Whether a line may start a command that passes a patch to `apply_patch`. */
export function isShellCommand(line: string): boolean {
  return /^(?:cd\s|(?:apply_patch|applypatch)\b)/.test(line.trim());
}

/** The value of one shell word without expansions; undefined for anything else. */
export function plainWord(text: string): string | undefined {
  let word = '';
  let at = 0;
  for (const { 0: part, groups = {} } of text.matchAll(WORD_PART)) {
    at += part.length;
    const { single, double, escaped, plain } = groups;
    word += single ?? double?.replace(/\\([\\"$`])/g, '$1') ?? escaped ?? plain;
  }
  return at === text.length && word !== '' && word !== '-' ? word : undefined;
}

export function trimBlank(patch: PatchText): PatchText {
  const { lines, skipped } = patch;
  let first = 0;
  let end = lines.length;
  while (first < end && lines[first]!.trim() === '') first += 1;
  while (end > first && lines[end - 1]!.trim() === '') end -= 1;
  return { ...patch, lines: lines.slice(first, end), skipped: skipped + first, blanksAfter: lines.length - end };
}

function withoutFence(patch: PatchText): PatchText | undefined {
  const { lines, skipped } = patch;
  const fence = FENCE.exec(lines[0] ?? '')?.[1];
  if (fence === undefined || lines.length < 2 || lines.at(-1)!.trim() !== fence) return undefined;
  return { ...patch, lines: lines.slice(1, -1), skipped: skipped + 1 };
}

function withoutHeredoc(patch: PatchText): PatchText | undefined {
  const { lines, skipped } = patch;
  const first = (lines[0] ?? '').trim();
  const command = first.length > MAX_COMMAND_CHARACTERS ? null : (COMMAND.exec(first) ?? BARE_HEREDOC.exec(first));
  const { word, directory } = command?.groups ?? {};
  if (word === undefined) return undefined;
  if (lines.length < 2 || lines.at(-1)!.trim() !== word) {
    throw failure('patch_syntax', `The heredoc is not closed. End the command with the line ${word}.`);
  }
  const inner = { ...patch, lines: lines.slice(1, -1), skipped: skipped + 1 };
  return directory === undefined ? inner : { ...inner, directory: readDirectory(directory) };
}

function readDirectory(text: string): string {
  const directory = plainWord(text);
  if (directory !== undefined) return directory;
  throw failure(
    'patch_syntax',
    `The folder of 'cd' before the patch must be one plain word, not ${quotePath(text)}. Use the argument cwd instead.`,
  );
}

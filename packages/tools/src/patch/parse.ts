import { isAbsolute, join } from 'node:path';
import { failure } from '../failure.js';
import { parseCodexFormat } from './codex-format.js';
import { pathsOf, type PatchOperation } from './operations.js';
import { readShellCommand } from './shell-command.js';
import { WorkSlices } from '../work-slices.js';
import { isUnifiedDiff, parseUnifiedDiff } from './unified-format.js';
import { isShellCommand, unwrapPatch, type PatchText } from './unwrap.js';

/** Files that one patch may change. */
const MAX_FILES = 1_000;
/** Characters of all names in a patch. Each is resolved, folder by folder, in the turn in which a rule asks for it. */
const MAX_NAME_CHARACTERS = 100_000;
/** A patch is read in one go, because approval rules ask at once what it touches: this takes some 25 ms. */
const MAX_LINES = 50_000;
/** Texts of fewer characters are read in the turn in which they come. */
const MAX_SHORT_TEXT = 65_536;

/** A patch in either format, read but not looked up. */
export interface ParsedPatch {
  readonly operations: readonly PatchOperation[];
  /** Folder that the paths count from; undefined: the workspace's first root. */
  readonly cwd: string | undefined;
  /** What the patch asks for and applyPatch does not do, one sentence each. */
  readonly notes: readonly string[];
}

/** Reads a patch by its text alone. Throws a ToolCallError that names the line. */
export function parsePatch(text: string, cwd?: string): ParsedPatch {
  refuseTooManyLines(text);
  return parseText(unwrapPatch(text), text, cwd);
}

/**
 * The same, a long text in a turn of its own; a patch inside a shell command is read with bash's grammar too, and both
 * must agree. Throws a ToolCallError after an abort.
 */
export async function readPatch(text: string, cwd?: string, signal?: AbortSignal): Promise<ParsedPatch> {
  refuseTooManyLines(text);
  if (text.length > MAX_SHORT_TEXT) await new WorkSlices({ signal }).pass();
  const command = text.trimStart();
  if (!isShellCommand(command.slice(0, 40))) return parsePatch(text, cwd);
  const skipped = text.slice(0, text.length - command.length).split('\n').length - 1;
  const read = await readShellCommand(command);
  const plain = unwrapPatch(text);
  if (read === undefined) return parseText(plain, text, cwd);
  // Approval rules saw the plain reading.
  if (read.directory !== plain.directory || read.lines.join('\n') !== plain.lines.join('\n')) {
    throw failure('patch_syntax', 'The command around the patch can be read in two ways; give the patch alone.');
  }
  return parseText({ ...read, skipped: read.skipped + skipped }, text, cwd);
}

/** Every path that a patch names, once. */
export function pathsInPatch({ operations }: ParsedPatch): string[] {
  return [...new Set(operations.flatMap(pathsOf))];
}

function parseText(patch: PatchText, text: string, cwd: string | undefined): ParsedPatch {
  const place = folderOf(patch.directory, cwd);
  const { lines, skipped, blanksBehind = 0 } = patch;
  if (!isUnifiedDiff(lines)) return { operations: fewEnough(parseCodexFormat(patch)), cwd: place, notes: [] };
  // Only here do CR before LF count: git writes the lines of CRLF files with them.
  const raw = text.split('\n').slice(skipped, skipped + lines.length + blanksBehind);
  const { operations, notes } = parseUnifiedDiff(raw, skipped);
  return { operations: fewEnough(operations), notes, cwd: place };
}

function refuseTooManyLines(text: string): void {
  let lines = 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines += 1;
  // defence: patch-lines-cap
  if (lines > MAX_LINES)
    throw failure('too_large', `The patch has ${lines} lines, and at most ${MAX_LINES} go into one. Split it.`);
}

/** Each file costs looks at the disk, also where a rule asks what a patch touches. */
function fewEnough(operations: readonly PatchOperation[]): readonly PatchOperation[] {
  // defence: patch-files-cap
  if (operations.length > MAX_FILES)
    throw failure(
      'too_large',
      `The patch changes ${operations.length} files, and at most ${MAX_FILES} go into one. Split it.`,
    );
  const characters = operations.flatMap(pathsOf).reduce((total, path) => total + path.length, 0);
  // defence: patch-names-total-cap
  if (characters > MAX_NAME_CHARACTERS)
    throw failure(
      'too_large',
      `The names in the patch have ${characters} characters, and at most ${MAX_NAME_CHARACTERS} go into one. Split it.`,
    );
  return operations;
}

function folderOf(directory: string | undefined, cwd: string | undefined): string | undefined {
  if (directory === undefined) return cwd;
  return isAbsolute(directory) || cwd === undefined ? directory : join(cwd, directory);
}

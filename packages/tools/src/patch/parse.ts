import { isAbsolute, join } from 'node:path';
import { failure } from '../failure.js';
import { parseCodexFormat } from './codex-format.js';
import { operationPaths, type PatchOperation } from './operations.js';
import { readShellCommand } from './shell-command.js';
import { WorkSlices } from '../work-slices.js';
import { isUnifiedDiff, parseUnifiedDiff } from './unified-format.js';
import { isShellCommand, unwrapPatch, type PatchText } from './unwrap.js';

/** Maximum files that one patch may change. */
const MAX_FILES = 1_000;
/**
 * Maximum number of characters of all names in a patch, because approval rules resolve each name synchronously, folder
 * by folder.
 */
const MAX_NAME_CHARACTERS = 100_000;
/** Maximum number of lines. Approval rules parse a patch synchronously, which takes about 25 ms at this size. */
const MAX_LINES = 50_000;
/** Shorter texts are parsed without yielding to the event loop. */
const MAX_SHORT_TEXT = 65_536;

/** A parsed patch in either format, before any lookup. */
export interface ParsedPatch {
  readonly operations: readonly PatchOperation[];
  /** The folder at which paths start. Undefined: paths start at the workspace's first root. */
  readonly cwd: string | undefined;
  /** Requests of the patch that applyPatch does not support, one sentence each. */
  readonly notes: readonly string[];
}

/** Parses a patch, without any access to files. Throws a ToolCallError that names the line. */
export function parsePatch(text: string, cwd?: string): ParsedPatch {
  refuseTooManyLines(text);
  return parseText(unwrapPatch(text), text, cwd);
}

/**
 * Like `parsePatch`, but yields to the event loop before it parses a long text. A patch inside a shell command is also
 * parsed with bash's grammar, and both results must agree. Throws a ToolCallError after an abort.
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
  // The approval rules have checked the result of the plain parser, so the two results must agree.
  if (read.directory !== plain.directory || read.lines.join('\n') !== plain.lines.join('\n')) {
    throw failure('patch_syntax', 'The command around the patch is ambiguous; send the patch alone.');
  }
  return parseText({ ...read, skipped: read.skipped + skipped }, text, cwd);
}

/** Every path that a patch names, once. */
export function pathsInPatch({ operations }: ParsedPatch): string[] {
  return [...new Set(operations.flatMap(operationPaths))];
}

function parseText(patch: PatchText, text: string, cwd: string | undefined): ParsedPatch {
  const place = patchFolder(patch.directory, cwd);
  const { lines, skipped, blanksAfter = 0 } = patch;
  if (!isUnifiedDiff(lines)) return { operations: fewEnough(parseCodexFormat(patch)), cwd: place, notes: [] };
  // The lines with their CR. Git writes the CR of CRLF files, and only a unified diff needs it.
  const raw = text.split('\n').slice(skipped, skipped + lines.length + blanksAfter);
  const { operations, notes } = parseUnifiedDiff(raw, skipped);
  return { operations: fewEnough(operations), notes, cwd: place };
}

function refuseTooManyLines(text: string): void {
  let lines = 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines += 1;
  // defence: patch-lines-cap
  if (lines > MAX_LINES)
    throw failure('too_large', `The patch has ${lines} lines, and at most ${MAX_LINES} are allowed. Split the patch.`);
}

/**
 * Rejects a patch that names too many files, or whose paths are too long in total: each path costs disk accesses, even
 * for approval rules.
 */
function fewEnough(operations: readonly PatchOperation[]): readonly PatchOperation[] {
  // defence: patch-files-cap
  if (operations.length > MAX_FILES)
    throw failure(
      'too_large',
      `The patch changes ${operations.length} files, and at most ${MAX_FILES} are allowed. Split the patch.`,
    );
  const characters = operations.flatMap(operationPaths).reduce((total, path) => total + path.length, 0);
  // defence: patch-names-total-cap
  if (characters > MAX_NAME_CHARACTERS)
    throw failure(
      'too_large',
      `The names in the patch have ${characters} characters, and at most ${MAX_NAME_CHARACTERS} are allowed. Split the patch.`,
    );
  return operations;
}

function patchFolder(directory: string | undefined, cwd: string | undefined): string | undefined {
  if (directory === undefined) return cwd;
  return isAbsolute(directory) || cwd === undefined ? directory : join(cwd, directory);
}

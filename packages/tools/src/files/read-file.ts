import { defineTool } from '@toolscript/core';
import type { Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { failure, throwIfAborted } from '../failure.js';
import { WorkSlices } from '../work-slices.js';
import { blockAround, limitAround, type LineRange } from './indentation.js';
import { permissionPath } from './permission-path.js';
import { quotePath } from './path-rules.js';
import { type TextLines, jsonBytes, readText } from './text.js';
import { displayPath, resolvePath, type Workspace } from './workspace.js';
import { SUCCESS } from '../success.js';

/** Maximum characters of a line in `content`. A line in `lines` may be longer. */
const MAX_SHOWN_LINE = 500;
/** Maximum characters of a line in `lines`. */
const MAX_LINE = 100_000;
/** Maximum JSON bytes of one result; `truncated` reports omitted lines. */
const MAX_RESULT_BYTES = 800_000;

const ReadFileInput = z.object({
  path: z.string(),
  offset: z.number().int().min(1).default(1),
  limit: z.number().int().min(1).max(100_000).default(2000),
  mode: z.enum(['slice', 'indentation']).default('slice'),
  anchorLine: z.number().int().min(1).optional().describe('default: offset'),
  maxLevels: z.number().int().min(0).default(0).describe('enclosing levels, 0 for all'),
  includeSiblings: z.boolean().default(false),
  includeHeader: z.boolean().default(true),
  cwd: z.string().optional(),
});

const ReadFileOutput = z.object({
  success: SUCCESS,
  path: z.string(),
  content: z.string().describe('lines as `L12: text`, cut at 500 characters'),
  lines: z.array(z.string()),
  firstLine: z.number().int().meta({ deprecated: true }),
  totalLines: z.number().int(),
  truncated: z.boolean(),
  lossy: z.boolean().describe('not UTF-8').meta({ deprecated: true }),
});

export type ReadFileInput = z.input<typeof ReadFileInput>;
export type ReadFileResult = z.output<typeof ReadFileOutput>;

export function readFileTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'readFile',
    description: "Reads lines of a text file; in mode 'indentation' the code block around anchorLine.",
    input: ReadFileInput,
    aliases: { filePath: 'path', workdir: 'cwd' },
    output: ReadFileOutput,
    approval: 'never',
    effect: 'read',
    permissions: (input) => [`read:${permissionPath(workspace, input.path, input.cwd)}`],
    execute: (input, { signal }) => readFile(workspace, input, signal),
  });
}

/**
 * Reads lines of a text file. Throws a ToolCallError, for example if the file is missing, outside the workspace,
 * binary, too large or not a regular file.
 */
export async function readFile(
  workspace: Workspace,
  input: ReadFileInput,
  signal?: AbortSignal,
): Promise<ReadFileResult> {
  const options = ReadFileInput.parse(input);
  const path = resolvePath(workspace, options.path, options.cwd);
  const slices = new WorkSlices({ signal });
  throwIfAborted(signal);
  const file = await readText(workspace, path, slices);
  const all = file.lines;
  const range = options.mode === 'slice' ? slice(all, options) : await block(all, options, slices);
  const taken = await takeLines(all, range, slices);
  const lastRequested = options.mode === 'slice' ? all.length - 1 : range.block.last;
  return {
    success: true,
    path: displayPath(workspace, file.realPath),
    content: taken.content,
    lines: taken.lines,
    firstLine: range.first + 1,
    totalLines: all.length,
    truncated: taken.cut || range.first + taken.lines.length - 1 < lastRequested || range.first > range.block.first,
    lossy: file.lossy,
  };
}

interface RequestedRange extends LineRange {
  /** The requested block, before `limit` truncates it. */
  readonly block: LineRange;
}

function slice(all: TextLines, { path, offset, limit }: z.output<typeof ReadFileInput>): RequestedRange {
  if (offset > all.length && offset > 1) throw beyondEnd(path, 'offset', offset, all.length);
  const range = { first: offset - 1, last: Math.min(all.length, offset - 1 + limit) - 1 };
  return { ...range, block: range };
}

async function block(
  all: TextLines,
  options: z.output<typeof ReadFileInput>,
  slices: WorkSlices,
): Promise<RequestedRange> {
  const anchorLine = options.anchorLine ?? options.offset;
  if (anchorLine > all.length) throw beyondEnd(options.path, 'anchorLine', anchorLine, all.length);
  const whole = await blockAround(all, anchorLine - 1, options, slices);
  return { ...limitAround(whole, anchorLine - 1, options.limit), block: whole };
}

function beyondEnd(path: string, name: string, line: number, total: number): Error {
  return failure(
    'out_of_range',
    `${quotePath(path)} has ${total} line${total === 1 ? '' : 's'}; ${name} ${line} is beyond its end. Read an earlier line.`,
    {
      path,
      totalLines: total,
    },
  );
}

/** Adds lines until the result reaches its maximum size. */
async function takeLines(
  all: TextLines,
  { first, last }: LineRange,
  slices: WorkSlices,
): Promise<{ lines: string[]; content: string; cut: boolean }> {
  const lines: string[] = [];
  const shown: string[] = [];
  let bytes = 0;
  let cut = false;
  for (let index = first; index <= last; index += 1) {
    const whole = all.at(index);
    const line = shorten(whole, MAX_LINE);
    if (slices.isDue(10 + line.length / 64)) await slices.pass();
    const numbered = `L${index + 1}: ${shorten(line, MAX_SHOWN_LINE)}`;
    bytes += jsonBytes(line) + jsonBytes(numbered);
    // defence: read-result-cap
    if (bytes > MAX_RESULT_BYTES && lines.length > 0) break;
    cut ||= line.length < whole.length;
    lines.push(line);
    shown.push(numbered);
  }
  return { lines, content: shown.join('\n'), cut };
}

/** The start of a text, with at most `length` UTF-16 units and no half of a surrogate pair. */
function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = /[\uD800-\uDBFF]/.test(text[length - 1]!) ? length - 1 : length;
  return text.slice(0, end);
}

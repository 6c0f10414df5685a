import type { Style } from '../terminal/style.js';
import { visible } from '../terminal/untrusted.js';
import type { Operation } from './call-lines.js';
import { counted } from './durations.js';

const MAX_LINES = 60;
const MAX_LENGTH = 200;

/** The patch that a call has applied, one line each; none for other calls. */
export function patchLines({ status, input }: Operation, style: Style): string[] {
  const patch: unknown = (input as { patch?: unknown } | null | undefined)?.patch;
  if (status !== 'completed' || typeof patch !== 'string') return [];
  const lines = visible(patch.trimEnd()).split('\n');
  if (!lines.some(isHead)) return [];
  const shown = lines.slice(0, MAX_LINES).map((line) => `    ${diffLine(line.slice(0, MAX_LENGTH), style)}`);
  const left = lines.length - MAX_LINES;
  return left > 0 ? [...shown, `    ${style.dim(`… ${counted(left, 'more line')}`)}`] : shown;
}

/** Colours the lines of a patch before it is applied. Other text stays unchanged. */
export function colouredDiff(text: string, style: Style): string {
  const lines = text.split('\n');
  if (!lines.some(isHead)) return text;
  return lines.map((line) => diffLine(line, style)).join('\n');
}

function isHead(line: string): boolean {
  return /^(?:@@|\*\*\* |--- |\+\+\+ |diff )/u.test(line);
}

function diffLine(line: string, style: Style): string {
  if (isHead(line)) return style.cyan(line);
  if (line.startsWith('+')) return style.green(line);
  if (line.startsWith('-')) return style.red(line);
  return line;
}

import type { Operation, OperationStatus } from '../protocol/index.js';
import { boundedJson } from './bounded-json.js';
import { quartersOf } from './token-budget.js';

const STATUS_WORDS: Record<OperationStatus, string> = {
  completed: 'done',
  failed: 'failed',
  denied: 'denied',
  aborted: 'aborted',
  unknown: 'unknown',
  not_started: 'not started',
  awaiting_approval: 'awaiting approval',
  detached: 'detached',
};

/** How many characters of arguments and results a row shows, from most to none. */
const WIDTHS = [
  { input: 240, result: 320 },
  { input: 80, result: 80 },
  { input: 40, result: 0 },
  { input: 0, result: 0 },
] as const;

/** A script may request a tool by any text. */
const MAX_NAME_LENGTH = 120;

type Width = (typeof WIDTHS)[number];

/** `5 tool calls: 3 done, 1 failed, 1 not started`; `no tool calls`. */
export function countOperations(operations: readonly Operation[]): string {
  if (operations.length === 0) return 'no tool calls';
  const calls = operations.length === 1 ? '1 tool call' : `${operations.length} tool calls`;
  return `${calls}: ${countByStatus(operations)}`;
}

/**
 * One row for each call, in call order: number, status, tool, arguments, result or error, line. If space is short, rows
 * get shorter, then the middle rows are replaced by a count.
 */
export function renderOperations(rows: readonly NumberedOperation[], quarters = Infinity): string {
  for (const width of WIDTHS) {
    const text = rows.map((row) => renderRow(row, width)).join('\n');
    if (quartersOf(text) <= quarters) return text;
  }
  return renderEnds(rows, quarters);
}

export interface NumberedOperation {
  /** The position in call order, starting at 1. */
  readonly number: number;
  readonly operation: Operation;
}

export function numberOperations(operations: readonly Operation[]): NumberedOperation[] {
  return operations.map((operation, index) => ({ number: index + 1, operation }));
}

/** JSON on one line; an ellipsis marks truncation. */
export function shortJson(value: unknown, maxLength: number): string {
  const { text, complete } = boundedJson(value, maxLength);
  return complete ? text : `${text}...`;
}

/** Text on one line, so that a tool's output cannot imitate another row. */
export function oneLine(text: string, maxLength: number): string {
  const line = text
    .slice(0, maxLength * 2)
    .replace(/\s+/gu, ' ')
    .trim();
  return line.length <= maxLength && text.length <= maxLength * 2 ? line : `${line.slice(0, maxLength)}...`;
}

function renderRow({ number, operation }: NumberedOperation, width: Width): string {
  const input = width.input > 0 && operation.input !== undefined ? ` ${shortJson(operation.input, width.input)}` : '';
  const line = operation.line === undefined ? '' : ` (line ${operation.line})`;
  return `${number}. ${STATUS_WORDS[operation.status]}: ${oneLine(operation.tool, MAX_NAME_LENGTH)}${input}${renderEnd(operation, width)}${line}`;
}

function renderEnd({ result, resultOmitted, error }: Operation, width: Width): string {
  if (error !== undefined)
    return ` -> ${error.code}${width.result > 0 ? `: ${oneLine(error.message, width.result)}` : ''}`;
  if (resultOmitted) return ' -> (result too large to carry)';
  return result === undefined || width.result === 0 ? '' : ` -> ${shortJson(result, width.result)}`;
}

/** As many of the shortest rows as fit, taken alternately from both ends. */
function renderEnds(rows: readonly NumberedOperation[], quarters: number): string {
  const lines = rows.map((row) => renderRow(row, WIDTHS[WIDTHS.length - 1]!));
  let room = quarters - quartersOf(leftOut(rows)) - 1;
  let head = 0;
  let tail = rows.length;
  while (head < tail) {
    const fromHead = head <= rows.length - tail;
    const cost = quartersOf(lines[fromHead ? head : tail - 1]!) + 1;
    if (cost > room) break;
    room -= cost;
    if (fromHead) head += 1;
    else tail -= 1;
  }
  return [...lines.slice(0, head), leftOut(rows.slice(head, tail)), ...lines.slice(tail)].join('\n');
}

function leftOut(rows: readonly NumberedOperation[]): string {
  return `[... ${rows.length} calls left out: ${countByStatus(rows.map((row) => row.operation))} ...]`;
}

function countByStatus(operations: readonly Operation[]): string {
  const counts = new Map<string, number>();
  for (const { status } of operations) counts.set(STATUS_WORDS[status], (counts.get(STATUS_WORDS[status]) ?? 0) + 1);
  return [...counts].map(([word, count]) => `${count} ${word}`).join(', ');
}

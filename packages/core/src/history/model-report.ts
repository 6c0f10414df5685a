import {
  ERROR_TABLE,
  type ApprovalRequest,
  type Diagnostic,
  type HarnessMode,
  type ModelPart,
  type Operation,
  type Outcome,
  type RunningOutcome,
  type ScriptFailure,
  type OperationStatus,
} from '../protocol/index.js';
import { codeFrame } from '../text/code-frame.js';
import { collectImages, imageHolders, imageLines, resolveImages, withoutImageData, type LoadImage } from './images.js';
import { scopeLine } from './program-scope.js';
import { cutMiddle, oneLine, QUARTERS_PER_TOKEN, textQuarters, shareBudget, shortJson } from './bounded-text.js';

export interface ModelReportOptions {
  /** Maximum tokens of the report, by estimate (`limits.modelOutputTokens`). */
  tokenBudget: number;
  /** The script's source, for a code frame if the failure has none. */
  source?: string | undefined;
  /** In 'dry-run' the report says that nothing ran. Default 'enabled'. */
  mode?: HarnessMode | undefined;
}

/**
 * A part of the report. It is rendered in full, and if its text exceeds its share of the budget, again within this
 * share.
 */
interface Section {
  /** The section's share of a budget that is too small, relative to the other sections. */
  readonly weight: number;
  /** The title line; empty for a section without a title. */
  readonly title: string;
  readonly render: (quarters: number) => string;
}

type FailedOutcome = Extract<Outcome, { status: 'failed' }>;
type SuspendedOutcome = Extract<Outcome, { status: 'suspended' }>;
type CompletedOutcome = Extract<Outcome, { status: 'completed' }>;

const MAX_DIAGNOSTICS = 10;
const ONE_LINE_JSON_LENGTH = 80;

/**
 * The text that a model reads after its script. After a success, it contains the value, the output, the operation count
 * and warnings. After a failure, it contains the error with its position and advice, a code frame, and the operations
 * table, so that the next script can continue where this script stopped. After a suspension, it contains the pending
 * approvals. The text never exceeds `tokenBudget` by estimate: excess text is truncated in the middle, with a note
 * about its length if there is room. The text is well-formed Unicode. An image is one line; its base64 is never
 * included.
 */
export function renderOutcomeForModel(outcome: Outcome, options: ModelReportOptions): string {
  const quarters = Math.max(0, Math.floor(options.tokenBudget * QUARTERS_PER_TOKEN));
  const report = layOut(outcomeSections(withoutImageData(outcome, imageHolders(outcome)), options), quarters);
  return cutMiddle(report, quarters).replace(/\p{Surrogate}/gu, '\ufffd');
}

/**
 * The report and the images of the script. A line explains each image whose bytes cannot be loaded. Images do not
 * count towards `tokenBudget`. Never rejects.
 */
export async function renderOutcomeParts(
  outcome: Outcome,
  options: ModelReportOptions & { loadImage?: LoadImage | undefined },
): Promise<ModelPart[]> {
  const holders = imageHolders(outcome);
  const parts = await resolveImages(collectImages(holders).images, { ...options, within: holders });
  return [{ type: 'text', text: renderOutcomeForModel(outcome, options) }, ...parts];
}

function outcomeSections(outcome: Outcome, options: ModelReportOptions): Section[] {
  switch (outcome.status) {
    case 'completed':
      return options.mode === 'dry-run' ? dryRunSections(outcome) : completedSections(outcome);
    case 'failed':
      return failedSections(outcome, options.source);
    case 'suspended':
      return suspendedSections(outcome);
    case 'running':
      return runningSections(outcome);
  }
}

function completedSections(outcome: CompletedOutcome): Section[] {
  const open = outcome.operations.filter((operation) => operation.status !== 'completed');
  return [
    headline(`Script completed, ${countOperations(outcome.operations)}.`),
    ...valueSection(outcome.value),
    ...textSection('Output:', outcome.output, 2),
    ...operationSections(outcome.operations, open.length === 0 ? [] : outcome.operations),
    ...imageSection(outcome),
    // The script completed, so warnings of the type checker no longer matter.
    ...diagnosticSection(outcome.diagnostics.filter(({ code }) => !code.startsWith('ts'))),
    ...logSection(outcome),
    ...scopeSection(outcome),
  ];
}

function dryRunSections(outcome: CompletedOutcome): Section[] {
  const calls = outcome.plan.map(({ tool, line, input, conditional, repeated }) => {
    const marks = [conditional ? 'perhaps' : '', repeated ? 'repeatedly' : ''].filter((mark) => mark !== '');
    const how = marks.length > 0 ? `, ${marks.join(', ')}` : '';
    return `- ${tool}${input === undefined ? '' : ` ${shortJson(input, 240)}`} (line ${line}${how})`;
  });
  return [
    headline('Script checked, not run. This is a dry run: nothing was called or changed.'),
    ...textSection('It would call:', calls.join('\n'), 2),
    ...diagnosticSection(outcome.diagnostics),
  ];
}

function failedSections(outcome: FailedOutcome, source: string | undefined): Section[] {
  const { error, operations } = outcome;
  const frame =
    error.frame ??
    (source !== undefined && error.line !== undefined ? codeFrame(source, error.line, error.column ?? 1) : undefined);
  return [
    { weight: 3, title: '', render: (quarters) => cutMiddle(failureText(error), quarters) },
    ...textSection('Where:', frame ?? '', 2),
    ...operationSections(operations, operations),
    ...imageSection(outcome),
    ...diagnosticSection(outcome.diagnostics.filter((diagnostic) => !isSaidBy(error, diagnostic))),
    ...textSection('Output before the failure:', outcome.output, 1),
    ...logSection(outcome),
    ...scopeSection(outcome),
  ];
}

/**
 * Whether the failure already contains the diagnostic. The message of a `ScriptTypeError` contains all errors of the
 * type checker, and the hint may repeat a warning.
 */
function isSaidBy({ code, message, hint }: ScriptFailure, diagnostic: Diagnostic): boolean {
  if (diagnostic.message === message || diagnostic.message === hint) return true;
  return code === 'ScriptTypeError' && diagnostic.severity === 'error';
}

function suspendedSections(outcome: SuspendedOutcome): Section[] {
  return [
    headline(
      `Script suspended, ${countOperations(outcome.operations)}. It waits for the user's decision; ` +
        'do not repeat its calls.',
    ),
    ...textSection('Waiting for a decision:', outcome.pendingApprovals.map(approvalRow).join('\n'), 2),
    ...operationSections(outcome.operations, outcome.operations),
    ...imageSection(outcome),
    ...textSection('Output so far:', outcome.output, 1),
    ...logSection(outcome),
  ];
}

function runningSections(outcome: RunningOutcome): Section[] {
  const { scriptId, operations, output } = outcome;
  return [
    headline(
      `Script ${scriptId} still runs, ${countOperations(operations)}. It continues: do not repeat its calls. A call ` +
        'with the status unknown is being made.',
    ),
    ...operationSections(operations, operations).slice(0, 1),
    ...imageSection(outcome),
    ...textSection('New output:', output, 1),
    ...logSection(outcome),
  ];
}

function failureText(error: ScriptFailure): string {
  const column = error.column === undefined ? '' : `, column ${error.column}`;
  const place = error.line === undefined ? '' : ` at line ${error.line}${column}`;
  const tool = error.toolName === undefined ? '' : ` in tools.${error.toolName}`;
  const lines = [`Script failed: ${error.code}${tool}${place} (${error.phase}): ${error.message}`];
  if (error.hint !== undefined) lines.push(`Hint: ${error.hint}`);
  lines.push(`Next: ${ERROR_TABLE[error.code].advice}`);
  return lines.join('\n');
}

function approvalRow({ tool, input, line }: ApprovalRequest): string {
  return `- ${tool} ${shortJson(input, 240)}${line === undefined ? '' : ` (line ${line})`}`;
}

function headline(text: string): Section {
  return { weight: 1, title: '', render: (quarters) => cutMiddle(text, quarters) };
}

function valueSection(value: unknown): Section[] {
  if (value === undefined) return [headline('Value: none. The script returned nothing.')];
  if (typeof value === 'string' && value.includes('\n')) return textSection('Value (text):', value, 3);
  // Indentation would add a third or more to the tokens.
  const json = JSON.stringify(value) ?? 'null';
  return json.length > ONE_LINE_JSON_LENGTH ? textSection('Value:', json, 3) : [headline(`Value: ${json}`)];
}

function operationSections(all: readonly Operation[], shown: readonly Operation[]): Section[] {
  if (all.length === 0 || shown.length === 0) return [];
  const rows = numberOperations(shown);
  const table: Section = {
    weight: 3,
    title: `Operations, in call order (${countOperations(all)}):`,
    render: (quarters) => renderOperations(rows, quarters),
  };
  const advice = operationAdvice(all);
  return advice === '' ? [table] : [table, headline(advice)];
}

function operationAdvice(operations: readonly Operation[]): string {
  const has = (...statuses: Operation['status'][]): boolean =>
    operations.some((operation) => statuses.includes(operation.status) && operation.effect !== 'read');
  const advice: string[] = [];
  if (has('completed')) advice.push('Completed calls have taken effect: do not repeat them.');
  if (has('unknown', 'aborted', 'detached')) {
    advice.push('Unknown, aborted and detached calls may have taken effect: check before you repeat them.');
  }
  return advice.join(' ');
}

function diagnosticSection(diagnostics: readonly Diagnostic[]): Section[] {
  const shown = diagnostics.filter(({ severity }) => severity !== 'info');
  const rows = shown.slice(0, MAX_DIAGNOSTICS).map(({ severity, message, line, code }) => {
    const place = line === undefined ? '' : `line ${line}: `;
    return `- ${severity}: ${place}${oneLine(message, 400)} (${code})`;
  });
  if (shown.length > rows.length) rows.push(`- and ${shown.length - rows.length} more`);
  return textSection('Diagnostics:', rows.join('\n'), 1);
}

function imageSection(outcome: Outcome): Section[] {
  return textSection('Images:', imageLines(collectImages(imageHolders(outcome))).join('\n'), 1);
}

function logSection({ logs }: Outcome): Section[] {
  return textSection(
    'Console:',
    logs.map(({ level, text }) => (level === 'log' ? text : `${level}: ${text}`)).join('\n'),
    1,
  );
}

function scopeSection({ scope = [] }: Outcome): Section[] {
  return scope.length === 0 ? [] : [headline(scopeLine(scope))];
}

function textSection(title: string, text: string, weight: number): Section[] {
  return text === '' ? [] : [{ weight, title, render: (quarters) => cutMiddle(text, quarters) }];
}

/** Renders every section in full if all fit, and otherwise each within its share. */
function layOut(sections: readonly Section[], quarters: number): string {
  const full = sections.map((section) => section.render(Infinity));
  const titles = sections.map(({ title }) => (title === '' ? '' : `${title}\n`));
  const costs = full.map((text) => textQuarters(text));
  const fixed = titles.reduce((total, title) => total + textQuarters(title) + 1, 0);
  const shares = shareBudget(
    sections.map(({ weight }, index) => ({ weight, cost: costs[index]! })),
    quarters - fixed,
  );
  return sections
    .map(
      (section, index) =>
        titles[index]! + (costs[index]! <= shares[index]! ? full[index]! : section.render(shares[index]!)),
    )
    .join('\n');
}

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

/** The maximum characters of arguments and results in a row, from the longest form of a row to the shortest. */
const WIDTHS = [
  { input: 240, result: 320 },
  { input: 80, result: 80 },
  { input: 40, result: 0 },
  { input: 0, result: 0 },
] as const;

/** A script may request a tool by a name of any length. */
const MAX_NAME_LENGTH = 120;

type Width = (typeof WIDTHS)[number];

/** Returns a text such as `5 tool calls: 3 done, 1 failed, 1 not started`, or `no tool calls`. */
export function countOperations(operations: readonly Operation[]): string {
  if (operations.length === 0) return 'no tool calls';
  const calls = operations.length === 1 ? '1 tool call' : `${operations.length} tool calls`;
  return `${calls}: ${countByStatus(operations)}`;
}

/**
 * One row for each call, in call order: number, status, tool, arguments, result or error, line. If the rows do not fit,
 * they get shorter, then a count replaces the middle rows.
 */
export function renderOperations(rows: readonly NumberedOperation[], quarters = Infinity): string {
  for (const width of WIDTHS) {
    const text = rows.map((row) => renderRow(row, width)).join('\n');
    if (textQuarters(text) <= quarters) return text;
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

function renderRow({ number, operation }: NumberedOperation, width: Width): string {
  const input = width.input > 0 && operation.input !== undefined ? ` ${shortJson(operation.input, width.input)}` : '';
  const line = operation.line === undefined ? '' : ` (line ${operation.line})`;
  return `${number}. ${STATUS_WORDS[operation.status]}: ${oneLine(operation.tool, MAX_NAME_LENGTH)}${input}${renderEnd(operation, width)}${line}`;
}

function renderEnd({ result, resultOmitted, error }: Operation, width: Width): string {
  if (error !== undefined)
    return ` -> ${error.code}${width.result > 0 ? `: ${oneLine(error.message, width.result)}` : ''}`;
  if (resultOmitted) return ' -> (result omitted: too large)';
  return result === undefined || width.result === 0 ? '' : ` -> ${shortJson(result, width.result)}`;
}

/** As many rows in their shortest form as fit, taken alternately from both ends. */
function renderEnds(rows: readonly NumberedOperation[], quarters: number): string {
  const lines = rows.map((row) => renderRow(row, WIDTHS[WIDTHS.length - 1]!));
  let room = quarters - textQuarters(leftOut(rows)) - 1;
  let head = 0;
  let tail = rows.length;
  while (head < tail) {
    const fromHead = head <= rows.length - tail;
    const cost = textQuarters(lines[fromHead ? head : tail - 1]!) + 1;
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

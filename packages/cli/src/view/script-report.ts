import type {
  PlannedCall,
  ScriptExecutionItem,
  ScriptExecutionOutputItem,
  StreamEvent,
} from '@toolscript/core/protocol';
import { indent } from '../terminal/indent.js';
import type { Style, Screen } from '../terminal/screen.js';
import { visible, visibleLine } from '../terminal/untrusted.js';
import { countWithNoun, shortDuration } from './values.js';

/** The line for a script, such as `▶ script 1a2b3c4d (ts, 12 lines)`. */
export function banner(item: ScriptExecutionItem, style: Style): string {
  const lines = item.source_code === '' ? 0 : item.source_code.replace(/\r?\n$/u, '').split('\n').length;
  const state = item.status === 'pending' ? ', pending' : '';
  return `${style.cyan('▶')} ${style.bold(`script ${shortHash(item.source_sha256)}`)} ${style.dim(`(${item.language}, ${countWithNoun(lines, 'line')}${state})`)}`;
}

/** The line for a script that was pending and runs now. */
export function startedBanner(sha256: string, style: Style): string {
  return `${style.cyan('▶')} ${style.bold(`script ${shortHash(sha256)}`)}`;
}

/** The line for a script that resumes. It omits the size, because the script was shown when it started. */
export function resumedBanner(scriptId: string, style: Style): string {
  return `${style.cyan('▶')} ${style.bold(`script ${scriptId}`)} continues`;
}

export function replayBanner(scriptId: string, style: Style): string {
  return `${style.cyan('▶')} ${style.bold(`script ${scriptId}`)} ${style.dim('(replay; no tool is called)')}`;
}

function shortHash(sha256: string): string {
  return sha256.slice(0, 8);
}

/** Describes the end of a script in one line. A failure may take more lines. */
export function summary(output: ScriptExecutionOutputItem, style: Style): string {
  const took = `in ${shortDuration(output.metadata.duration_ms)}`;
  const calls = callCounts(output);
  if (output.status === 'completed') return `${style.green('✔')} completed ${took}${calls}`;
  if (output.status === 'suspended')
    return `${style.yellow('⏸')} suspended after ${shortDuration(output.metadata.duration_ms)}${calls}`;
  return [`${style.red('✘')} failed ${took}${calls}`, ...failureLines(output.error, style)].join('\n');
}

/** The calls of the script according to a dry run. */
export function planLines({ plan = [] }: ScriptExecutionItem): string[] {
  return plan.map((call) => `  ${plannedCallLine(call)}`);
}

export function plannedCallLine({ tool, input, line, repeated, conditional }: PlannedCall): string {
  const notes = [...(conditional ? ['maybe'] : []), ...(repeated ? ['repeatedly'] : [])];
  const about = callSummary(input);
  return `· ${visibleLine(tool)}${about === '' ? '' : ` ${about}`}  line ${line}${notes.length === 0 ? '' : `, ${notes.join(', ')}`}`;
}

function callCounts({ operations }: ScriptExecutionOutputItem): string {
  if (operations.length === 0) return '';
  const counts = new Map<string, number>();
  for (const { tool } of operations) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  const names = [...counts].map(([tool, count]) => visibleLine(tool) + (count === 1 ? '' : ` ×${count}`));
  return ` · ${countWithNoun(operations.length, 'tool call')} (${names.join(', ')})`;
}

function failureLines(error: ScriptExecutionOutputItem['error'], style: Style): string[] {
  if (error === undefined) return [];
  // The compiler's messages already contain the line and the column.
  const saysPlace = error.line === undefined || error.message.includes(`(line ${error.line}`);
  const place = saysPlace
    ? ''
    : style.dim(` (line ${error.line}${error.column === undefined ? '' : `, column ${error.column}`})`);
  const lines = [`  ${style.red(error.code)}: ${indent(visible(error.message))}${place}`];
  if (error.frame !== undefined && error.frame !== '') lines.push(`    ${indent(visible(error.frame), 4)}`);
  if (error.hint !== undefined && error.hint !== '')
    lines.push(`  ${style.bold('hint:')} ${indent(visible(error.hint))}`);
  return lines;
}

export type Operation = Extract<StreamEvent['payload'], { type: 'tool_call_done' }>['operation'];

const MAX_REASON_LENGTH = 300;

/** One line for a call that has ended: a mark, the tool, its subject, its duration, and its error. */
export function callLine(operation: Operation, style: Style): string {
  const { mark, colour, word } = LOOKS[operation.status];
  const about = callSummary(operation.input);
  const head = [style[colour](mark), style.bold(visibleLine(operation.tool)), about]
    .filter((part) => part !== '')
    .join(' ');
  const duration = style.dim(shortDuration(operation.duration_ms));
  const reason = operationReason(operation);
  return `  ${[head, duration, [word, reason].filter((part) => part !== '').join(' ')].filter((part) => part !== '').join('  ')}`;
}

const LOOKS: Readonly<
  Record<Operation['status'], { mark: string; colour: 'green' | 'red' | 'yellow' | 'dim'; word: string }>
> = {
  completed: { mark: '✓', colour: 'green', word: '' },
  failed: { mark: '✗', colour: 'red', word: '' },
  denied: { mark: '⊘', colour: 'yellow', word: 'denied:' },
  aborted: { mark: '⊘', colour: 'yellow', word: 'aborted' },
  detached: { mark: '⊘', colour: 'yellow', word: 'not awaited' },
  unknown: { mark: '?', colour: 'red', word: 'may or may not have taken effect' },
  not_started: { mark: '–', colour: 'dim', word: 'not started' },
  awaiting_approval: { mark: '…', colour: 'yellow', word: 'waits for an approval' },
};

function operationReason({ status, error }: Operation): string {
  if (error === undefined || (status !== 'failed' && status !== 'denied')) return '';
  const reason = visibleLine(error.message);
  return reason.length <= MAX_REASON_LENGTH ? reason : `${reason.slice(0, MAX_REASON_LENGTH)}…`;
}

const MAX_ARGUMENT_LENGTH = 60;

/** A summary of a call's arguments that is safe to print: the first argument, or the files that a patch names. */
export function callSummary(input: unknown): string {
  if (typeof input !== 'object' || input === null) return input === undefined ? '' : short(scalar(input));
  const [first] = Object.values(input);
  return first === undefined ? '' : short(argument(first));
}

function argument(value: unknown): string {
  if (typeof value === 'string') return stringArgument(value);
  if (Array.isArray(value))
    return value.every((one) => typeof one === 'string')
      ? value.map(word).join(' ')
      : countWithNoun(value.length, 'item');
  return scalar(value);
}

function stringArgument(text: string): string {
  const files = [...text.matchAll(/^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ b\/)(.+)$/gmu)].map(
    ([, name]) => name as string,
  );
  if (files.length > 0) return files.join(', ');
  const lines = text.trimEnd().split('\n');
  if (lines.length === 1) return hasBlankEdge(text) ? JSON.stringify(text) : text;
  return `${lines[0]} … (${countWithNoun(lines.length, 'line')})`;
}

/** Whether a name begins or ends with white space. Quotes then show where the name begins and ends. */
function hasBlankEdge(text: string): boolean {
  return text !== text.trim();
}

function word(text: string): string {
  return text === '' || /[\s"']/u.test(text) ? JSON.stringify(text) : text;
}

function scalar(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function short(text: string): string {
  const line = visibleLine(text.slice(0, MAX_ARGUMENT_LENGTH * 4));
  return line.length <= MAX_ARGUMENT_LENGTH ? line : `${line.slice(0, MAX_ARGUMENT_LENGTH - 1)}…`;
}

const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const FRAME_MS = 100;
/** The time in ms before a running call is shown on the live line. */
const PATIENCE_MS = 300;

/** Shows the running tool calls on the screen's live line. The timer does not keep the process alive. */
export class LiveCalls {
  readonly #screen: Screen;
  readonly #calls = new Map<string, { text: string; sinceMs: number }>();
  #timer: NodeJS.Timeout | undefined;
  #frame = 0;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  start(callId: string, tool: string, input: unknown): void {
    if (!this.#screen.isTerminal) return;
    this.#calls.set(callId, {
      text: `${visibleLine(tool)} ${callSummary(input)}`.trimEnd(),
      sinceMs: performance.now(),
    });
    this.#timer ??= setInterval(() => this.#show(), FRAME_MS).unref();
  }

  end(callId: string): void {
    this.#calls.delete(callId);
    if (this.#calls.size === 0) this.stop();
    else this.#show();
  }

  stop(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#calls.clear();
    this.#screen.setLive('');
  }

  #show(): void {
    const [oldest] = this.#calls.values();
    if (oldest === undefined) return;
    const elapsedMs = performance.now() - oldest.sinceMs;
    if (elapsedMs < PATIENCE_MS) return;
    this.#frame = (this.#frame + 1) % FRAMES.length;
    const others = this.#calls.size - 1;
    const more = others === 0 ? '' : ` (and ${others} more)`;
    this.#screen.setLive(`  ${FRAMES[this.#frame]} ${shortDuration(elapsedMs)}  ${oldest.text}${more}`);
  }
}

const MAX_STEPS = 40;
const MAX_STEP_LENGTH = 200;

/** The plan that a call to `updatePlan` has recorded, one line per step; none for other calls. */
export function workPlanLines({ tool, status, input }: Operation, style: Style): string[] {
  if (tool !== 'updatePlan' || status !== 'completed') return [];
  const steps = planSteps(input);
  const left = steps.length - MAX_STEPS;
  const lines = steps.slice(0, MAX_STEPS).map((step) => stepLine(step, style));
  return left > 0 ? [...lines, `    ${style.dim(`… ${countWithNoun(left, 'more step')}`)}`] : lines;
}

export interface Step {
  readonly step: string;
  readonly status: 'pending' | 'in_progress' | 'completed';
}

/** The steps of a plan; none for other arguments, because a host's own `updatePlan` may take other arguments. */
export function planSteps(input: unknown): readonly Step[] {
  const plan: unknown = (input as { plan?: unknown } | null | undefined)?.plan;
  return Array.isArray(plan) && plan.every(isStep) ? plan : [];
}

function isStep(value: unknown): value is Step {
  const { step, status } = (value ?? {}) as { step?: unknown; status?: unknown };
  return typeof step === 'string' && typeof status === 'string' && Object.hasOwn(STEP_LOOKS, status);
}

const STEP_LOOKS: Readonly<Record<Step['status'], { box: string; mark: 'dim' | 'bold' | undefined }>> = {
  completed: { box: '[x]', mark: 'dim' },
  in_progress: { box: '[>]', mark: 'bold' },
  pending: { box: '[ ]', mark: undefined },
};

function stepLine({ step, status }: Step, style: Style): string {
  const { box, mark } = STEP_LOOKS[status];
  const line = visibleLine(step.slice(0, MAX_STEP_LENGTH));
  const text = `${box} ${line}${step.length > MAX_STEP_LENGTH ? '…' : ''}`;
  return `    ${mark === undefined ? text : style[mark](text)}`;
}

const MAX_PATCH_LINES = 60;
const MAX_PATCH_WIDTH = 200;

/** The lines of the patch that a call has applied; none for other calls. */
export function patchLines({ status, input }: Operation, style: Style): string[] {
  const patch: unknown = (input as { patch?: unknown } | null | undefined)?.patch;
  if (status !== 'completed' || typeof patch !== 'string') return [];
  const lines = visible(patch.trimEnd()).split('\n');
  if (!lines.some(isHead)) return [];
  const shown = lines.slice(0, MAX_PATCH_LINES).map((line) => `    ${diffLine(line.slice(0, MAX_PATCH_WIDTH), style)}`);
  const left = lines.length - MAX_PATCH_LINES;
  return left > 0 ? [...shown, `    ${style.dim(`… ${countWithNoun(left, 'more line')}`)}`] : shown;
}

/** Colours the lines of a patch or a diff. Other text stays unchanged. */
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

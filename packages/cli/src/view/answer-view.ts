import { operationToItem, outcomeToOutputItem } from '@toolscript/core/history';
import type {
  LogEntry,
  Outcome,
  OutputItem,
  ScriptExecutionItem,
  ScriptExecutionOutputItem,
  StreamEvent,
} from '@toolscript/core/protocol';
import type { Screen } from '../terminal/screen.js';
import { visible, visibleLine, VisibleStream } from '../terminal/untrusted.js';
import { callLine, type Operation } from './call-lines.js';
import { LiveCalls } from './live-calls.js';
import { banner, planLines, summary } from './script-report.js';
import { shownValue } from './value.js';
import { workPlanLines } from './work-plan.js';

/** Takes the events of a run as they happen and shows them. */
export interface EventView {
  take(event: StreamEvent): void;
  /** Nothing more will come; the screen is left tidy. */
  end(): void;
}

type Payload = StreamEvent['payload'];

/** A run for a person: the text, the scripts, each call, each line of the console, and how it ended. */
export class AnswerView implements EventView {
  readonly #screen: Screen;
  readonly #live: LiveCalls;
  readonly #isDryRun: boolean;
  /** The text items that are open, and how far they are shown. */
  readonly #texts = new Map<string, { isReasoning: boolean; stream: VisibleStream; isFirst: boolean }>();
  readonly #shownCalls = new Set<string>();
  #script: ScriptExecutionItem | undefined;

  constructor(screen: Screen, { isDryRun }: { isDryRun: boolean }) {
    this.#screen = screen;
    this.#live = new LiveCalls(screen);
    this.#isDryRun = isDryRun;
  }

  take({ payload }: StreamEvent): void {
    switch (payload.type) {
      case 'item_start':
        return this.#startItem(payload);
      case 'item_delta':
        return this.#showText(payload.item_id, payload.delta);
      case 'item_done':
        return this.#endItem(payload.item_id, payload.final_item);
      case 'tool_call_start':
        return this.#live.start(payload.call_id, payload.tool, payload.input);
      case 'tool_call_done':
        this.#live.end(payload.call_id);
        this.#shownCalls.add(payload.call_id);
        return this.#showCall(payload.operation);
      case 'script_log':
        return this.#showLog(payload);
      case 'script_progress':
        return this.#screen.line(`  ${this.#screen.style.dim(`… ${visibleLine(payload.message)}`)}`);
      default:
        // Approvals are shown by whoever asks; errors of the answer itself by the command.
        return;
    }
  }

  /** Calls that were shown before the script was put aside. */
  knowCalls(callIds: Iterable<string>): void {
    for (const callId of callIds) this.#shownCalls.add(callId);
  }

  /** Calls of a script that was cut off, before it goes on. */
  showCalls(operations: Outcome['operations']): void {
    for (const operation of operations) this.#showCall(operationToItem(operation));
    this.knowCalls(operations.map(({ callId }) => callId));
  }

  showLogs(logs: Outcome['logs']): void {
    for (const log of logs) this.#showLog(log);
  }

  /** The end of a script that no event told of. */
  showOutcome(outcome: Outcome): void {
    this.#showOutput(outcomeToOutputItem(outcome, { id: '', callId: '' }));
  }

  end(): void {
    this.#live.stop();
    this.#screen.toLineStart();
  }

  #startItem({ item_id, item_type }: Extract<Payload, { type: 'item_start' }>): void {
    if (item_type !== 'message' && item_type !== 'reasoning') return;
    this.#texts.set(item_id, { isReasoning: item_type === 'reasoning', stream: new VisibleStream(), isFirst: true });
  }

  #showText(itemId: string, delta: string): void {
    const text = this.#texts.get(itemId);
    if (text === undefined) return;
    const piece = text.isFirst ? delta.replace(/^\uFEFF/u, '') : delta;
    if (delta !== '') text.isFirst = false;
    this.#writeText(text.stream.push(piece), text.isReasoning);
  }

  #endItem(itemId: string, item: OutputItem): void {
    const text = this.#texts.get(itemId);
    if (text !== undefined) {
      this.#writeText(text.stream.end(), text.isReasoning);
      this.#texts.delete(itemId);
      if (text.isReasoning && this.#screen.isTerminal) this.#screen.toLineStart();
      return;
    }
    if (item.type === 'script_execution') this.#showScript(item);
    else if (item.type === 'script_execution_output') this.#showOutput(item);
  }

  /** Reasoning is for a person who watches; in a pipe it would pass for the answer. */
  #writeText(text: string, isReasoning: boolean): void {
    if (!isReasoning) return this.#screen.write(text);
    if (this.#screen.isTerminal) this.#screen.write(this.#screen.style.dim(text));
  }

  #showScript(item: ScriptExecutionItem): void {
    this.#script = item;
    this.#screen.line(banner(item, this.#screen.style));
  }

  #showLog({ level, text }: Pick<LogEntry, 'level' | 'text'>): void {
    const { style } = this.#screen;
    const mark = level === 'error' ? style.red : level === 'warn' ? style.yellow : style.dim;
    for (const line of visible(text).replace(/\n$/u, '').split('\n'))
      this.#screen.line(`${mark('[script]')} ${line}`.trimEnd());
  }

  #showCall(operation: Operation): void {
    const { style } = this.#screen;
    for (const line of [callLine(operation, style), ...workPlanLines(operation, style)]) this.#screen.line(line);
  }

  #showOutput(output: ScriptExecutionOutputItem): void {
    this.#live.stop();
    this.#showDiagnostics(output);
    for (const operation of output.operations) {
      if (!this.#shownCalls.has(operation.call_id)) this.#showCall(operation);
    }
    if (output.output !== undefined && output.output !== '')
      this.#screen.line(visible(output.output).replace(/\n$/u, ''));
    const value = shownValue(output.result);
    if (value !== '') this.#screen.line(value);
    if (this.#isDryRun && output.status === 'completed' && this.#script !== undefined) this.#showPlan(this.#script);
    else this.#screen.line(summary(output, this.#screen.style));
  }

  #showPlan(script: ScriptExecutionItem): void {
    for (const line of planLines(script)) this.#screen.line(line);
    this.#screen.line(`${this.#screen.style.green('✔')} checked; a dry run calls nothing`);
  }

  #showDiagnostics({ diagnostics = [], status }: ScriptExecutionOutputItem): void {
    for (const { severity, code, message, line } of diagnostics) {
      // What TypeScript doubted has turned out well where the script has run and completed.
      const isSettled = code.startsWith('ts') && status === 'completed' && !this.#isDryRun;
      if (severity === 'error' || isSettled) continue;
      const place = line === undefined ? '' : `line ${line}: `;
      const word = severity === 'warning' ? 'warning' : 'note';
      this.#screen.warn(`${this.#screen.warningStyle.yellow(word)}: ${place}${visibleLine(message)}`);
    }
  }
}

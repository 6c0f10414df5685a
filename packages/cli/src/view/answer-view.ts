import { outcomeToOutputItem } from '@toolscript/core/history';
import { toSnakeCase } from '@toolscript/core/internal';
import type {
  LogEntry,
  Outcome,
  OutputItem,
  ScriptExecutionItem,
  ScriptExecutionOutputItem,
  StreamEvent,
} from '@toolscript/core/protocol';
import { JsonTextMember, SCRIPT_TOOL } from '@toolscript/core/stream';
import type { Screen } from '../terminal/screen.js';
import { visible, visibleLine } from '../terminal/untrusted.js';
import {
  LiveCalls,
  banner,
  callLine,
  patchLines,
  planLines,
  startedBanner,
  summary,
  workPlanLines,
  type Operation,
} from './script-report.js';
import { summarised } from './run-report.js';
import { SubAgentLines } from './sub-agent-lines.js';
import { PlainSink, SourceSink, markdownSink, type TextSink } from './text-sink.js';
import { shortValue, shownValue } from './values.js';

/** Receives the events of a run and shows them as they happen. */
export interface EventView {
  take(event: StreamEvent): void;
  /** Cleans up the screen after the last event. */
  end(): void;
}

/** A view that shows nothing, because stdout carries data. */
export const silentView: EventView = { take: () => {}, end: () => {} };

type Payload = StreamEvent['payload'];

/** The id of the live line of the pending model request. */
const MODEL = 'model';

/** The codes of diagnostics that the view omits, because it already shows the progress and the value. */
const HIDDEN_CODES: ReadonlySet<string> = new Set(['progress-dropped', 'repair-last-value']);

export interface AnswerViewOptions {
  isDryRun: boolean;
  /**
   * The model's name, for a conversation. At a terminal, the view then renders Markdown, and shows scripts while they
   * stream and the name while a model request is pending. Default: the view shows text unchanged.
   */
  model?: string | undefined;
}

/** Shows a run to a user: the text, the scripts, each call, each console line, and the end. */
export class AnswerView implements EventView {
  readonly #screen: Screen;
  readonly #live: LiveCalls;
  readonly #isDryRun: boolean;
  readonly #model: string | undefined;
  /** The sinks of the open items, by item id. They show text as it streams. */
  readonly #sinks = new Map<string, TextSink>();
  /** The ids of the open items with a delta. A part of their text was shown already. */
  readonly #begunItems = new Set<string>();
  readonly #shownCalls = new Set<string>();
  /** Calls that a user has seen in a question. */
  readonly #askedCalls = new Set<string>();
  readonly #subAgents: SubAgentLines;
  #script: ScriptExecutionItem | undefined;

  constructor(screen: Screen, { isDryRun, model }: AnswerViewOptions) {
    this.#screen = screen;
    this.#live = new LiveCalls(screen);
    this.#isDryRun = isDryRun;
    this.#subAgents = new SubAgentLines(screen.style);
    this.#model = screen.isTerminal ? model : undefined;
  }

  take({ payload }: StreamEvent): void {
    switch (payload.type) {
      case 'response_start':
        return this.#awaitModel();
      case 'response_done':
        return this.#live.end(MODEL);
      case 'item_start':
        this.#live.end(MODEL);
        return this.#startItem(payload);
      case 'item_delta':
        return this.#showDelta(payload);
      case 'item_cancelled':
      case 'item_error':
        return void this.#endSink(payload.item_id);
      case 'approval_requested':
        return void this.#askedCalls.add(payload.approval.call_id);
      case 'item_done':
        return this.#endItem(payload.item_id, payload.final_item);
      case 'item_update':
        return this.#startPending(payload.changes);
      case 'tool_call_start':
        return this.#live.start(payload.call_id, payload.tool, payload.input);
      case 'tool_call_done':
        this.#live.end(payload.call_id);
        this.#shownCalls.add(payload.call_id);
        return this.#showCall(payload.operation);
      case 'script_log':
        return this.#showLog(payload);
      case 'agent_start':
      case 'agent_event':
        for (const line of this.#subAgents.take(payload)) this.#screen.line(line);
        return;
      case 'request_retry':
        return this.#screen.line(`  ${this.#screen.style.dim(visibleLine(retryLine(payload)))}`);
      case 'script_progress':
        return this.#screen.line(`  ${this.#screen.style.dim(`… ${visibleLine(payload.message)}`)}`);
      default:
        // The asker shows approvals. The command shows errors of the answer itself.
        return;
    }
  }

  /** Marks calls that were shown before the script was suspended, so that they are not shown again. */
  knowCalls(callIds: Iterable<string>): void {
    for (const callId of callIds) this.#shownCalls.add(callId);
  }

  /** Shows the calls of an interrupted script before it continues. */
  showCalls(operations: Outcome['operations']): void {
    for (const operation of operations) this.#showCall(toSnakeCase(operation));
    this.knowCalls(operations.map(({ callId }) => callId));
  }

  showLogs(logs: Outcome['logs']): void {
    for (const log of logs) this.#showLog(log);
  }

  /** Shows the end of a script for which no event was emitted. */
  showOutcome(outcome: Outcome): void {
    if (outcome.status !== 'running') this.#showOutput(outcomeToOutputItem(outcome, { id: '', callId: '' }));
  }

  end(): void {
    this.#live.stop();
    this.#screen.toLineStart();
  }

  /** Shows the model's name until its next output. */
  #awaitModel(): void {
    if (this.#model !== undefined) this.#live.start(MODEL, this.#model, undefined);
  }

  #startItem({ item_id, item_type, initial }: Extract<Payload, { type: 'item_start' }>): void {
    const sink = this.#sinkFor(item_type, initial ?? {});
    if (sink !== undefined) this.#sinks.set(item_id, sink);
  }

  #sinkFor(type: OutputItem['type'], initial: Readonly<Record<string, unknown>>): TextSink | undefined {
    const isChat = this.#model !== undefined;
    switch (type) {
      case 'message':
        return isChat ? markdownSink(this.#screen) : new PlainSink((text) => this.#screen.write(text));
      case 'reasoning':
        return new PlainSink((text) => this.#writeReasoning(text));
      case 'script_execution':
      case 'hosted_code':
        return isChat ? new SourceSink(this.#screen) : undefined;
      case 'function_call':
        return isChat && initial['name'] === SCRIPT_TOOL ? this.#sourceSink(initial) : undefined;
      case 'compaction':
        this.#live.start(MODEL, 'summarises the conversation', undefined);
        return undefined;
      default:
        return undefined;
    }
  }

  #sourceSink(initial: Readonly<Record<string, unknown>>): TextSink {
    if (initial['native_type'] === 'custom_tool_call') return new SourceSink(this.#screen);
    const code = new JsonTextMember('code');
    return new SourceSink(this.#screen, (piece) => code.push(piece));
  }

  #showDelta({ item_id: id, delta }: Extract<Payload, { type: 'item_delta' }>): void {
    if (delta !== '') this.#begunItems.add(id);
    this.#sinks.get(id)?.push(delta);
  }

  /** Ends the sink of an item. `whole` is the text to show if the item had no deltas. Returns whether it had a sink. */
  #endSink(itemId: string, whole = ''): boolean {
    const sink = this.#sinks.get(itemId);
    if (!this.#begunItems.delete(itemId)) sink?.push(whole);
    sink?.end();
    return this.#sinks.delete(itemId);
  }

  #endItem(itemId: string, item: OutputItem): void {
    const wasShown = this.#endSink(itemId, wholeText(item));
    switch (item.type) {
      case 'reasoning':
        if (wasShown && this.#screen.isTerminal) this.#screen.toLineStart();
        return;
      case 'script_execution':
        return this.#showScript(item);
      case 'script_execution_output':
        // Only the model reads a placeholder result.
        if (item.stands_in !== true) this.#showOutput(item);
        return this.#awaitModel();
      case 'hosted_code':
        return this.#screen.line(this.#screen.style.dim('… the provider runs this code'));
      case 'hosted_code_output':
        this.#screen.line(this.#screen.style.dim(`… the provider’s code ${item.success ? 'completed' : 'failed'}`));
        return this.#showValue(item.output);
      case 'function_call_output':
        return this.#awaitModel();
      case 'compaction':
        this.#live.end(MODEL);
        this.#screen.line(this.#screen.style.dim(summarised(item)));
        return this.#awaitModel();
      default:
        return;
    }
  }

  /** Reasoning is only for a user who watches; in a pipe it would look like the answer. */
  #writeReasoning(text: string): void {
    if (this.#screen.isTerminal) this.#screen.write(this.#screen.style.dim(text));
  }

  #showScript(item: ScriptExecutionItem): void {
    this.#script = item;
    this.#screen.line(banner(item, this.#screen.style));
  }

  #startPending({ status, source_sha256: sha256 }: Readonly<Record<string, unknown>>): void {
    if (status === 'executing' && typeof sha256 === 'string')
      this.#screen.line(startedBanner(visibleLine(sha256), this.#screen.style));
  }

  #showLog({ level, text }: Pick<LogEntry, 'level' | 'text'>): void {
    const { style } = this.#screen;
    const mark = level === 'error' ? style.red : level === 'warn' ? style.yellow : style.dim;
    for (const line of visible(text).replace(/\n$/u, '').split('\n'))
      this.#screen.line(`${mark('[script]')} ${line}`.trimEnd());
  }

  #showCall(operation: Operation): void {
    const { style } = this.#screen;
    const patch =
      this.#screen.isTerminal && !this.#askedCalls.has(operation.call_id) ? patchLines(operation, style) : [];
    for (const line of [callLine(operation, style), ...workPlanLines(operation, style), ...patch])
      this.#screen.line(line);
  }

  #showOutput(output: ScriptExecutionOutputItem): void {
    this.#live.stop();
    this.#showDiagnostics(output);
    for (const operation of output.operations) {
      if (!this.#shownCalls.has(operation.call_id)) this.#showCall(operation);
    }
    if (output.output !== undefined && output.output !== '')
      this.#screen.line(visible(output.output).replace(/\n$/u, ''));
    this.#showValue(output.result);
    if (this.#isDryRun && output.status === 'completed' && this.#script !== undefined) this.#showPlan(this.#script);
    else this.#screen.line(summary(output, this.#screen.style));
  }

  /** The model reads a script's value; in a conversation the user sees only a summary. */
  #showValue(result: unknown): void {
    const value = this.#model === undefined ? shownValue(result) : shortValue(result);
    if (value === '') return;
    this.#screen.line(this.#model === undefined ? value : `  ${this.#screen.style.dim(`→ ${value}`)}`);
  }

  #showPlan(script: ScriptExecutionItem): void {
    for (const line of planLines(script)) this.#screen.line(line);
    this.#screen.line(`${this.#screen.style.green('✔')} checked; a dry run calls nothing`);
  }

  #showDiagnostics({ diagnostics = [], status }: ScriptExecutionOutputItem): void {
    for (const { severity, code, message, line } of diagnostics) {
      // TypeScript's warnings have no use after the script has completed.
      const isSettled = code.startsWith('ts') && status === 'completed' && !this.#isDryRun;
      if (severity === 'error' || isSettled || HIDDEN_CODES.has(code)) continue;
      const place = line === undefined ? '' : `line ${line}: `;
      const word = severity === 'warning' ? 'warning' : 'note';
      this.#screen.warn(`${this.#screen.warningStyle.yellow(word)}: ${place}${visibleLine(message)}`);
    }
  }
}

/** The text of an item without deltas; empty for a script, which its banner shows. */
function wholeText(item: OutputItem): string {
  if (item.type === 'message' || item.type === 'reasoning') return item.content;
  if (item.type === 'hosted_code') return item.source_code;
  return item.type === 'function_call' ? item.arguments : '';
}

function retryLine({ message, delay_ms: delayMs, model }: Extract<Payload, { type: 'request_retry' }>): string {
  if (model !== undefined) return `The model did not answer: ${message}`;
  return `The model did not answer: ${message} The next attempt follows in ${Math.ceil(delayMs / 1000)} s.`;
}

import {
  savedScriptId,
  type GuestError,
  type SandboxCall,
  type ScriptPosition,
  type Settlement,
  type SourcePosition,
  type Operation,
} from '../../protocol/index.js';
import { bytesProblem } from '../../schema/base64-members.js';
import { identifierName } from '../../text/identifier-name.js';
import { MAX_TIMER_MS } from '../../protocol/limited-signal.js';
import {
  callIdIndex,
  idempotencyKey,
  unknownEnd,
  type CallResult,
  type Facade,
  type FacadeCall,
  type PendingCalls,
  type WaitingCall,
} from '../facade/index.js';
import {
  BuiltinAnswers,
  readArguments,
  textArgument,
  CatalogCalls,
  TaskCalls,
  taskIdStart,
  WRONG_ARGUMENTS,
} from './builtin-calls.js';
import { PAGE_TOOL } from '../flow/result-parts.js';
import type { EarlierCalls } from './earlier-calls.js';
import { placeOfCall } from './resume-state.js';
import { callFrame, type RejectedCall } from './outcome-failure.js';
import type { SessionOptions, SessionScript } from './session-options.js';
import type { OpenTask, ScriptTasks } from './script-tasks.js';
import type { OpenCall } from './suspended-script.js';

interface CallsOptions {
  readonly session: SessionOptions;
  readonly tasks: ScriptTasks | undefined;
  readonly earlier: EarlierCalls | undefined;
  readonly facade: Facade;
  /** The prefix of the ids of the script's calls. */
  readonly callPrefix: string;
  /** Called once for every call, synchronously or in a later tick. */
  readonly settle: (call: { callIndex: number }, result: CallResult) => void;
}

interface PendingTimer {
  readonly call: SandboxCall;
  readonly timeout: NodeJS.Timeout;
  /** The time at which the timer ends, on the monotonic clock. */
  readonly endsAtMs: number;
}

/** A tool call as the script made it. */
interface ToolCall extends Pick<FacadeCall, 'tool' | 'argsJson' | 'isRepeated' | 'retries'> {
  task?: OpenTask | undefined;
}

/** Settles the calls that one script makes: tools, `sleep`, the catalog and tasks. */
export class ScriptCalls {
  /** Tasks that outlive the script, by the ids of their calls. */
  readonly detached = new Map<string, OpenTask>();
  readonly rejected: Map<number, RejectedCall>;
  readonly #options: CallsOptions;
  readonly #script: SessionScript;
  readonly #builtins: BuiltinAnswers;
  readonly #catalog: CatalogCalls;
  readonly #taskCalls: TaskCalls | undefined;
  readonly #taskIdStart: string;
  readonly #timers = new Map<number, PendingTimer>();
  /** Timers whose callbacks have not run, until their ends are delivered to the guest. */
  readonly #callbacks = new Map<number, SandboxCall>();
  /** The number of calls that the facade has not answered, without detached calls. */
  #open = 0;
  #onNoneOpen: (() => void) | undefined;
  /** The calls that the facade has not answered, by their indexes; undefined for a call of an earlier process. */
  readonly #unansweredCalls = new Map<number, SandboxCall | undefined>();
  #sourceLines: readonly string[] | undefined;

  constructor(options: CallsOptions) {
    const { session, tasks, settle } = options;
    const { services, context, script } = session;
    this.#options = options;
    this.#script = script;
    this.rejected = new Map(script.earlier?.rejected);
    this.#taskIdStart = taskIdStart(script.scriptId);
    this.#builtins = new BuiltinAnswers(settle);
    this.#catalog = new CatalogCalls(services.catalog.forPrincipal(context.principal));
    if (tasks !== undefined)
      this.#taskCalls = new TaskCalls(tasks, this.#taskIdStart, (call, make) => this.#builtins.add(call, make));
  }

  /** `isRepeated`: the call had started in an earlier process. */
  start(call: OpenCall, isRepeated = false): void {
    const how = isRepeated ? { isRepeated } : {};
    if (!call.name.startsWith('$')) return this.#callTool(call, { tool: call.name, argsJson: call.argsJson, ...how });
    try {
      this.#startBuiltin(call, how);
    } catch {
      this.#refuse(call, 'ToolValidationError', WRONG_ARGUMENTS);
    }
  }

  /** Call this method after these settlements were sent to the guest. */
  delivered(settlements: readonly Settlement[]): void {
    if (this.#callbacks.size > 0) for (const { callIndex } of settlements) this.#callbacks.delete(callIndex);
    this.#builtins.delivered();
  }

  /** Starts a call to a built-in function. Throws a `TypeError` for arguments that the guest's bridge never writes. */
  #startBuiltin(call: OpenCall, how: Pick<ToolCall, 'isRepeated'>): void {
    const problem = call.argsProblem ?? (call.argsBytes && bytesProblem(undefined, call.argsBytes));
    if (problem !== undefined)
      return this.#refuse(
        call,
        'ToolValidationError',
        `The arguments are wrong: ${problem}. Pass plain JSON values within the limits.`,
      );
    // The script was suspended by a process that allows detached tasks; this process does not allow them.
    if (this.#taskCalls === undefined && (call.name === '$spawn' || call.name === '$tasks'))
      return this.#refuse(
        call,
        'ToolNotFoundError',
        'tools.spawn is no longer available here. Call the tool directly.',
      );
    switch (call.name) {
      case '$sleep':
        return this.#sleep(call);
      case '$catalog':
        return this.#builtins.add(call, () => this.#catalog.answer(call.argsJson));
      case '$spawn':
        return this.#spawn(call, how);
      case '$retry':
        return this.#retry(call);
      case PAGE_TOOL:
        return this.#callTool(call, { tool: call.name, argsJson: call.argsJson, ...how });
      case '$tasks':
        return this.#taskCalls?.ask(call);
      default:
        this.#refuse(
          call,
          'ToolNotFoundError',
          `The sandbox has no function ${call.name.slice(0, 100)}. Call a tool under tools, sleep or catalog.`,
        );
    }
  }

  /** Resumes a call that waited for a decision when its script was suspended. */
  resumeCall(call: WaitingCall): void {
    const { operation, request } = call;
    const { callId, tool } = operation;
    const callIndex = callIdIndex(callId);
    const task = call.detached === true ? this.#openTask(callIndex, tool, request.inputJson) : undefined;
    if (task !== undefined) this.detached.set(callId, task);
    const position = placeOfCall(operation);
    const pending = this.#options.facade.resumeCall(call, task);
    this.#follow(pending, { callIndex }, { toolName: tool, callId, position }, task);
  }

  /** Rejects a call that had started in an earlier process and whose outcome is unknown. */
  rejectUnknown(call: { callIndex: number }): void {
    const { earlier, settle } = this.#options;
    const known = earlier?.operation(call.callIndex);
    const toolName = known?.tool ?? 'tool';
    const callId = this.callId(call.callIndex);
    const error = unknownEnd(toolName, callId, this.#idempotencyKey(known?.retryOf ?? callId));
    const position = known === undefined ? undefined : placeOfCall(known);
    const { message } = error;
    const rejected = { code: 'ToolExecutionError', message, toolName, callId, position } as const;
    this.rejected.set(call.callIndex, rejected);
    settle(call, { ok: false, error: withFrames(error, rejected) });
  }

  /**
   * Ends a call that lost its race and that nothing in the script can still observe: aborts a tool call, and ends a
   * timer or a wait. Detached tasks keep running.
   */
  abandon(callIndex: number): void {
    const callId = this.callId(callIndex);
    if (this.detached.has(callId)) return;
    const timer = this.#timers.get(callIndex);
    if (timer === undefined && this.#taskCalls?.endWait(callIndex) !== true)
      return this.#options.facade.abort(callId, 'it lost its race');
    clearTimeout(timer?.timeout);
    this.#timers.delete(callIndex);
    this.#callbacks.delete(callIndex);
    this.#options.settle({ callIndex }, { ok: true, json: '' });
  }

  get hasTimers(): boolean {
    return this.#timers.size > 0;
  }

  /** Whether the script waits only for decisions, apart from timers. */
  waitForDecisions({ awaitingApproval, executing, detached, queued, overBudget }: PendingCalls): boolean {
    return (
      awaitingApproval > 0 &&
      executing + queued === detached &&
      this.#unansweredCalls.size === awaitingApproval + detached + overBudget &&
      this.#builtins.isIdle &&
      this.#taskCalls?.waitsForOthers !== true
    );
  }

  /** Resolves when every call that is not detached has been answered, or after `withinMs`. */
  async settledWithin(withinMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      if (this.#open === 0) return resolve();
      this.#onNoneOpen = resolve;
      timer = setTimeout(resolve, withinMs);
    });
    clearTimeout(timer);
  }

  /** Drops the callbacks of the timers that the script cleared in its last turn. */
  clearCallbacks(callIndexes: readonly number[]): void {
    for (const callIndex of callIndexes) this.#callbacks.delete(callIndex);
  }

  /** The positions of timers that have not fired; undefined for an interval that has restarted itself. */
  pendingTimers(): (SourcePosition | undefined)[] {
    const { compiled } = this.#script;
    return [...this.#callbacks.values()].map(({ line, column }) => compiled.originalPosition(line, column));
  }

  /** Ends every timer and every wait. */
  close(): void {
    for (const { timeout } of this.#timers.values()) clearTimeout(timeout);
    this.#timers.clear();
    this.#builtins.close();
    this.#taskCalls?.close();
  }

  /**
   * Ends every timer and every wait. Returns the calls that are made again when the script is resumed, in their
   * original order.
   */
  suspend(): OpenCall[] {
    const now = performance.now();
    const timers = [...this.#timers.values()].map(({ call, endsAtMs }) => {
      return { ...call, remainingMs: Math.max(0, endsAtMs - now) };
    });
    const overBudget = this.#options.facade
      .overBudget()
      .flatMap((callIndex) => this.#unansweredCalls.get(callIndex) ?? []);
    const open = [...timers, ...(this.#taskCalls?.open() ?? []), ...overBudget];
    this.close();
    return open.toSorted((left, right) => left.callIndex - right.callIndex);
  }

  /** The tools that the script found and did not call. */
  foundBeside(operations: readonly Operation[]): readonly string[] {
    return this.#catalog.foundBeside(new Set(operations.map(({ tool }) => identifierName(tool))));
  }

  callId(callIndex: number): string {
    return `${this.#options.callPrefix}_${callIndex}`;
  }

  #idempotencyKey(callId: string): string {
    return idempotencyKey(this.#script.scriptId, { callId, callIndex: callIdIndex(callId) });
  }

  #callTool(call: SandboxCall, { task, ...asked }: ToolCall): void {
    const position = this.#script.compiled.originalPosition(call.line, call.column);
    const callId = this.callId(call.callIndex);
    // The task is recorded before the call is made, because a refused call ends at once.
    if (task !== undefined) this.detached.set(callId, task);
    // The host's reports name only lines of the script itself.
    const own = position?.saved === undefined ? position : undefined;
    const pending = this.#options.facade.call({
      callId,
      callIndex: call.callIndex,
      ...asked,
      argsProblem: call.argsProblem,
      argsBytes: call.argsBytes,
      line: own?.line,
      column: own?.column,
      snippet: position === undefined ? undefined : this.#lineAt(position),
      detached: task !== undefined,
      task,
    });
    this.#follow(pending, call, { toolName: asked.tool, callId, position }, task);
  }

  #follow(
    pending: Promise<CallResult>,
    call: SandboxCall | { callIndex: number },
    about: Omit<RejectedCall, 'code' | 'message'>,
    task: OpenTask | undefined,
  ): void {
    if (task === undefined) this.#open++;
    this.#unansweredCalls.set(call.callIndex, 'name' in call ? call : undefined);
    void pending.then((result) => {
      this.#unansweredCalls.delete(call.callIndex);
      if (task === undefined && --this.#open === 0) this.#onNoneOpen?.();
      if (!result.ok) {
        task?.rejected(result.error);
        const { code, message } = result.error;
        this.rejected.set(call.callIndex, { ...about, code: code as RejectedCall['code'], message });
        return this.#options.settle(call, { ok: false, error: withFrames(result.error, about) });
      }
      this.#options.settle(call, result);
    });
  }

  /** Returns the text of a line. For a saved script, the script's name and the line's number precede the text. */
  #lineAt({ saved, line }: ScriptPosition): string | undefined {
    const { compiled } = this.#script;
    if (saved === undefined) {
      this.#sourceLines ??= sourceLines(compiled.source);
      return this.#sourceLines[line - 1]?.trim();
    }
    const source = compiled.linked.find((linked) => savedScriptId(linked) === saved)?.source ?? '';
    return `${saved}, line ${line}: ${sourceLines(source)[line - 1]?.trim() ?? ''}`;
  }

  #sleep({ remainingMs, ...call }: OpenCall): void {
    const { ms, timer } = readArguments(call.argsJson);
    const waitMs = Math.max(0, Math.min(MAX_TIMER_MS, Number(remainingMs ?? ms) || 0));
    const end = () => {
      this.#timers.delete(call.callIndex);
      this.#options.settle(call, { ok: true, json: '' });
    };
    this.#timers.set(call.callIndex, { call, timeout: setTimeout(end, waitMs), endsAtMs: performance.now() + waitMs });
    if (timer === true) this.#callbacks.set(call.callIndex, call);
  }

  #spawn(call: SandboxCall, how: Pick<ToolCall, 'isRepeated'>): void {
    const { name, args = {} } = readArguments(call.argsJson);
    const inputJson = JSON.stringify(args);
    const tool = textArgument(name);
    this.#callTool(call, { tool, argsJson: inputJson, task: this.#openTask(call.callIndex, tool, inputJson), ...how });
  }

  /** Repeats a call of this script whose outcome is unknown, with the same arguments. Refuses every other call. */
  #retry(call: SandboxCall): void {
    const { call: callIndex } = readArguments(call.argsJson);
    const first = this.#options.earlier?.operation(callIndex);
    // defence: only-unknown-calls-are-retried
    if (first?.status !== 'unknown')
      return this.#refuse(
        call,
        'ToolValidationError',
        'The outcome of this call is known, so the call cannot be retried. Call the tool again.',
      );
    const inputJson = JSON.stringify(first.input);
    const callId = first.retryOf ?? first.callId;
    const retries = { callId, idempotencyKey: this.#idempotencyKey(callId), inputJson };
    this.#callTool(call, { tool: first.tool, argsJson: inputJson, retries });
  }

  #openTask(callIndex: number, tool: string, inputJson: string): OpenTask | undefined {
    const { tasks, facade } = this.#options;
    const { scriptId } = this.#script;
    const callId = this.callId(callIndex);
    const abort = (reason: string) => facade.abort(callId, reason);
    return tasks?.open({ id: `${this.#taskIdStart}${callIndex}`, tool, scriptId, inputJson, abort });
  }

  #refuse(call: SandboxCall, code: string, message: string): void {
    this.#options.settle(call, { ok: false, error: { code, message } });
  }
}

function sourceLines(source: string): readonly string[] {
  return source.split(/\r\n|\n|\r/u);
}

/** Returns the error for the script. Its stack begins at the call. */
function withFrames(error: GuestError, about: Pick<RejectedCall, 'toolName' | 'position'>): GuestError {
  const stack = callFrame(about);
  return stack === '' ? error : { ...error, stack };
}

/**
 * Maximum number of calls that start before other work gets a turn of the event loop, and maximum number of characters
 * of their arguments. The time limit is for expensive checks. It is long, so that the order of events rarely depends on
 * the load of the machine.
 */
const TURN_CALLS = 64;
const TURN_UNITS = 65_536;
const TURN_MS = 25;

interface CallStarter {
  start(call: SandboxCall): void;
  /** Returns whether the next turn may start. Called before each turn except the first. */
  continues(): boolean;
  done(): void;
}

/** Starts the calls of one segment; many calls start over several turns of the event loop. */
export function startInTurns(calls: readonly SandboxCall[], starter: CallStarter, from = 0): void {
  let units = 0;
  const turnEnds = calls.length < 2 ? 0 : performance.now() + TURN_MS;
  for (let index = from; index < calls.length; index++) {
    const isOver = index - from >= TURN_CALLS || units > TURN_UNITS;
    // defence: calls-start-in-turns
    if (isOver || (index > from && performance.now() > turnEnds)) {
      setImmediate(() => {
        if (starter.continues()) startInTurns(calls, starter, index);
      });
      return;
    }
    units += calls[index]!.argsJson.length;
    starter.start(calls[index]!);
  }
  starter.done();
}

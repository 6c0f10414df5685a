import {
  PROGRESS_INTERVAL_MS,
  type Diagnostic,
  type Limits,
  type LogEntry,
  type LogLevel,
  type SandboxSegment,
} from '../../protocol/index.js';
import type { RunContext } from '../../protocol/run-context.js';
import type { OutputState } from './suspended-script.js';

/**
 * The output of a running script: console lines, progress and text for the user, each with limits. The first and the
 * last console lines are kept; an entry between them reports the number of dropped lines. Progress over its limit is
 * dropped and counted. Text over its limit is truncated.
 */
export class ScriptOutput {
  /** The first console lines. */
  readonly logs: LogEntry[];
  readonly #lastLogs: LogEntry[];
  #lastLogBytes: number;
  /** The output of `text()`. */
  text: string;
  #outputBytes: number;
  readonly #sink: RunContext['sink'];
  readonly #scriptId: string;
  readonly #limits: Limits;
  readonly #nowMs: () => number;
  #logBytes: number;
  #droppedLogs: number;
  #progressEvents: number;
  #lastProgressMs = Number.NEGATIVE_INFINITY;
  #droppedProgress: number;

  /** `nowMs`: time since the script's start. */
  constructor({ limits, sink }: RunContext, scriptId: string, nowMs: () => number, earlier: OutputState = NO_OUTPUT) {
    this.#sink = sink;
    this.#scriptId = scriptId;
    this.#limits = limits;
    this.#nowMs = nowMs;
    this.logs = [...earlier.logs];
    this.#lastLogs = [...earlier.lastLogs];
    this.#lastLogBytes = earlier.lastLogs.reduce((sum, entry) => sum + Buffer.byteLength(entry.text), 0);
    this.text = earlier.output;
    this.#outputBytes = Buffer.byteLength(earlier.output);
    this.#logBytes = earlier.logBytes;
    this.#droppedLogs = earlier.droppedLogs;
    this.#progressEvents = earlier.progressEvents;
    this.#droppedProgress = earlier.droppedProgress;
  }

  state(): OutputState {
    return {
      logs: this.logs,
      lastLogs: this.#lastLogs,
      output: this.text,
      logBytes: this.#logBytes,
      droppedLogs: this.#droppedLogs,
      progressEvents: this.#progressEvents,
      droppedProgress: this.#droppedProgress,
    };
  }

  /** Adds the output of a segment, and emits it. `isNew` false: a replay repeats the output. */
  take(segment: SandboxSegment, isNew: boolean): void {
    const script_id = this.#scriptId;
    const sink = this.#sink;
    const isEmitted = isNew && sink.hasListeners;
    this.#append(segment.output);
    this.#droppedProgress += segment.dropped.progress;
    for (const { level, text } of segment.logs) {
      const entry = this.#log(level, text);
      if (entry !== undefined && isEmitted) this.#emit(entry);
    }
    this.#droppedLogs += segment.dropped.logs;
    for (const { message, kind } of segment.progress) {
      if (this.mayProgress() && isEmitted) sink.emit({ type: 'script_progress', script_id, message, kind });
    }
  }

  /** Appends text for the user, up to the limit. */
  #append(text: string): void {
    // defence: output-is-capped-by-the-host
    if (this.#outputBytes >= this.#limits.maxReturnBytes) return;
    const bytes = Buffer.byteLength(text);
    const room = this.#limits.maxReturnBytes - this.#outputBytes;
    this.#outputBytes += bytes;
    this.text += bytes <= room ? text : `${firstBytes(text, room)}${OUTPUT_CUT}`;
  }

  /** Adds a line. Returns its entry if it is one of the first lines; the last ones are known at the end. */
  #log(level: LogLevel, text: string): LogEntry | undefined {
    const { maxLogEvents, maxLogBytes } = this.#limits;
    const entry: LogEntry = { level, text, atMs: Math.round(this.#nowMs()) };
    const bytes = Buffer.byteLength(text);
    const isEarly = this.#lastLogs.length === 0 && this.#droppedLogs === 0;
    const firstEvents = Math.floor(maxLogEvents / 2);
    if (isEarly && this.logs.length < firstEvents && this.#logBytes + bytes <= maxLogBytes / 2) {
      this.#logBytes += bytes;
      this.logs.push(entry);
      return entry;
    }
    this.#lastLogs.push(entry);
    this.#lastLogBytes += bytes;
    // defence: logs-are-capped-by-the-host
    while (this.#lastLogs.length > maxLogEvents - firstEvents || this.#lastLogBytes > maxLogBytes / 2) {
      const dropped = this.#lastLogs.shift();
      if (dropped === undefined) break;
      this.#lastLogBytes -= Buffer.byteLength(dropped.text);
      this.#droppedLogs++;
    }
    return undefined;
  }

  #emit({ level, text, atMs: at_ms }: LogEntry): void {
    this.#sink.emit({ type: 'script_log', script_id: this.#scriptId, level, text, at_ms });
  }

  /** Whether a progress event may be sent now. Counts the event. */
  mayProgress(): boolean {
    const now = this.#nowMs();
    const allowed =
      this.#progressEvents < this.#limits.maxProgressEvents && now - this.#lastProgressMs >= PROGRESS_INTERVAL_MS;
    // defence: progress-is-capped-by-the-host
    if (!allowed) {
      this.#droppedProgress++;
      return false;
    }
    this.#progressEvents++;
    this.#lastProgressMs = now;
    return true;
  }

  droppedProgress(): number {
    return this.#droppedProgress;
  }

  /** All console lines so far: the first, the number of dropped ones, and the last. */
  allLogs(): LogEntry[] {
    return [...this.logs, ...this.#closingLogs()];
  }

  /** All console lines of a script that has ended. Emits those that have not been emitted. */
  endLogs(): LogEntry[] {
    const closing = this.#closingLogs();
    if (this.#sink.hasListeners) for (const entry of closing) this.#emit(entry);
    return [...this.logs, ...closing];
  }

  #closingLogs(): readonly LogEntry[] {
    if (this.#droppedLogs === 0) return this.#lastLogs;
    const { maxLogEvents, maxLogBytes } = this.#limits;
    const count = this.#droppedLogs === 1 ? '1 console line was' : `${this.#droppedLogs} console lines were`;
    const text = `[${count} dropped here: ${maxLogEvents} lines and ${maxLogBytes} bytes are kept, the first and the last]`;
    const atMs = this.#lastLogs[0]?.atMs ?? Math.round(this.#nowMs());
    return [{ level: 'warn', text, atMs }, ...this.#lastLogs];
  }
}

const OUTPUT_CUT = '\n[the rest of the output was truncated]';

/** Returns the longest prefix of a text that fits into this many bytes of UTF-8, without a partial character. */
function firstBytes(text: string, maxBytes: number): string {
  const buffer = Buffer.from(text.slice(0, maxBytes));
  let end = Math.min(maxBytes, buffer.length);
  while (end > 0 && end < buffer.length && (buffer[end]! & 0xc0) === 0x80) end--;
  return buffer.toString('utf8', 0, end);
}

const NO_OUTPUT: OutputState = {
  logs: [],
  lastLogs: [],
  output: '',
  logBytes: 0,
  droppedLogs: 0,
  progressEvents: 0,
  droppedProgress: 0,
};

/** Maximum number of notes, because a script may repeat a mistake in every iteration of a loop. */
const MAX_NOTES = 20;

/**
 * The notes that the host made when a script called tools. Contains each note once, and no note that the check has
 * reported.
 */
export class CallNotes {
  readonly #checkedDiagnostics: readonly Diagnostic[];
  readonly #notes: Diagnostic[];

  /** `checked`: the notes of the check. `earlier`: notes from before the script was suspended. */
  constructor(checked: readonly Diagnostic[], earlier: readonly Diagnostic[] = []) {
    this.#checkedDiagnostics = checked;
    this.#notes = [...earlier];
  }

  get all(): readonly Diagnostic[] {
    return this.#notes;
  }

  add(note: Diagnostic): void {
    if (this.#notes.length >= MAX_NOTES) return;
    const isSame = ({ message }: Diagnostic): boolean => message === note.message;
    if (!this.#checkedDiagnostics.some(isSame) && !this.#notes.some(isSame)) this.#notes.push(note);
  }
}

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
 * The output of a running script: console lines, progress and text for the user, each with limits. Console lines and
 * progress over a limit are dropped and counted. Text over its limit is truncated. The last log entry reports the
 * number of dropped console lines.
 */
export class ScriptOutput {
  readonly logs: LogEntry[];
  /** The output of `text()`. */
  text: string;
  #outputBytes: number;
  readonly #sink: RunContext['sink'];
  readonly #scriptId: string;
  readonly #limits: Limits;
  readonly #nowMs: () => number;
  #logBytes: number;
  #tokens: number;
  #refilledAtMs = 0;
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
    this.#tokens = limits.logRatePerSec;
    this.logs = [...earlier.logs];
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
    if (segment.output !== '') this.#append(segment.output);
    this.#droppedLogs += segment.dropped.logs;
    this.#droppedProgress += segment.dropped.progress;
    for (const { level, text } of segment.logs) {
      const entry = this.#log(level, text, isNew);
      if (entry !== undefined && isEmitted)
        sink.emit({ type: 'script_log', script_id, level, text, at_ms: entry.atMs });
    }
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

  /**
   * Adds a line and returns its entry; undefined if the line exceeds a limit. `isPaced` false: a replay repeats the
   * line.
   */
  #log(level: LogLevel, text: string, isPaced: boolean): LogEntry | undefined {
    const atMs = this.#nowMs();
    const bytes = Buffer.byteLength(text);
    // defence: logs-are-capped-by-the-host
    const full = this.logs.length >= this.#limits.maxLogEvents || this.#logBytes + bytes > this.#limits.maxLogBytes;
    if (full || (isPaced && !this.#takeToken(atMs))) {
      this.#droppedLogs++;
      return undefined;
    }
    this.#logBytes += bytes;
    const entry: LogEntry = { level, text, atMs: Math.round(atMs) };
    this.logs.push(entry);
    return entry;
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

  /** Returns the last entry, which reports the dropped console lines; undefined if none were dropped. */
  closingEntry(): LogEntry | undefined {
    if (this.#droppedLogs === 0) return undefined;
    const { maxLogEvents, logRatePerSec, maxLogBytes } = this.#limits;
    const count = this.#droppedLogs === 1 ? '1 console line was' : `${this.#droppedLogs} console lines were`;
    const text = `[${count} dropped: at most ${logRatePerSec} a second, ${maxLogEvents} in all and ${maxLogBytes} bytes are kept]`;
    return { level: 'warn', text, atMs: Math.round(this.#nowMs()) };
  }

  #takeToken(atMs: number): boolean {
    const { logRatePerSec } = this.#limits;
    this.#tokens = Math.min(logRatePerSec, this.#tokens + ((atMs - this.#refilledAtMs) / 1000) * logRatePerSec);
    this.#refilledAtMs = atMs;
    // defence: logs-are-paced-by-the-host
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
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

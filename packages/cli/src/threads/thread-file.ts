import {
  closeSync,
  constants,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { extendHistory } from '@toolscript/core/agent';
import { StreamEventSchema, type OutputItem, type StreamEvent } from '@toolscript/core/protocol';
import { z } from 'zod';
import { visibleLine } from '../terminal/untrusted.js';
import { systemCode, UsageError } from '../usage-error.js';
import { ThreadLock } from './thread-lock.js';

/*
 * A conversation is a file of JSON lines: what the thread is, then the events of its runs, each line written when its
 * event happens. What streams (deltas, progress) is left out: the finished item says it. A line that was cut off by the
 * end of the process is the last one, and does not count.
 */

const HeadSchema = z.strictObject({
  type: z.literal('thread'),
  version: z.literal(1),
  thread_id: z.string(),
  /** The folder that its tools may touch, without links. */
  workspace: z.string(),
  created_at: z.string(),
  /** The beginning of the first prompt. */
  title: z.string(),
});

/** Who is talked to from here on, and what they were told at the beginning; the last one counts. */
const VoiceSchema = z.strictObject({
  type: z.literal('voice'),
  agent: z.string(),
  model: z.string(),
  system: z.string().optional(),
  /** What they were told later, in place of it. */
  announced: z.string().optional(),
});

export type ThreadHead = z.infer<typeof HeadSchema>;
export type ThreadVoice = z.infer<typeof VoiceSchema>;

/** What streams, or passes. */
const PASSING: readonly string[] = ['item_delta', 'script_progress', 'tool_call_start', 'usage_update'];

export interface ThreadText {
  readonly head: ThreadHead;
  readonly voice: ThreadVoice | undefined;
  readonly history: readonly OutputItem[];
  /** The last run, if it has not ended for good. */
  readonly waiting: WaitingRun | undefined;
}

/** A run that waits for a person. */
export interface WaitingRun {
  readonly runId: string;
  readonly turnId: string;
  readonly scriptId: string;
  readonly nextSeq: number;
}

/** What a file holds. Throws a UsageError for one that is no thread, or cannot be read. */
export function readThread(path: string): ThreadText {
  const name = visibleLine(path);
  const text = orRefuse(
    () => readFileSync(path, 'utf8'),
    (code) => `${name} cannot be read (${code}). Give yourself permission, or begin a new conversation.`,
  );
  const lines = text.split('\n');
  // The last one is empty, or was cut off.
  const values = lines.slice(0, -1).map((line, index) => parseLine(line, name, index + 1));
  const head = HeadSchema.safeParse(values[0]);
  if (!head.success) throw new UsageError(`${name} is not a conversation of this version.`);
  let voice: ThreadVoice | undefined;
  const events: StreamEvent[] = [];
  for (const value of values.slice(1)) {
    const asVoice = VoiceSchema.safeParse(value);
    if (asVoice.success) voice = asVoice.data;
    else events.push(parseEvent(value, name));
  }
  const whole = withEnds(events);
  return { head: head.data, voice, history: extendHistory([], whole), waiting: waitingRun(events) };
}

export function readHead(path: string): ThreadHead | undefined {
  try {
    const text = beginningOf(path);
    return HeadSchema.parse(JSON.parse(text.slice(0, text.indexOf('\n'))));
  } catch {
    return undefined;
  }
}

/** More than a head takes; the rest of a long conversation is not read for a list. */
const HEAD_BYTES = 65_536;

function beginningOf(path: string): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(HEAD_BYTES);
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, HEAD_BYTES, 0));
  } finally {
    closeSync(file);
  }
}

function parseLine(line: string, name: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new UsageError(`${name} is damaged at line ${number}. Begin a new conversation.`);
  }
}

function parseEvent(value: unknown, name: string): StreamEvent {
  const event = StreamEventSchema.safeParse(value);
  if (event.success) return event.data;
  throw new UsageError(`${name} holds what is no event of this version. Begin a new conversation.`);
}

/** A process that was ended told no end of what was open: it was given up. */
function withEnds(events: readonly StreamEvent[]): StreamEvent[] {
  const open = new Map<string, StreamEvent>();
  for (const event of events) {
    const { payload } = event;
    if (payload.type === 'item_start') open.set(payload.item_id, event);
    else if (payload.type === 'item_done' || payload.type === 'item_cancelled' || payload.type === 'item_error')
      open.delete(payload.item_id);
  }
  const ends = [...open].map(([id, event]): StreamEvent => ({
    ...event,
    payload: { type: 'item_cancelled', item_id: id },
  }));
  return [...events, ...ends];
}

/** What waits behind the last event of a run. */
export function waitingRun(events: readonly StreamEvent[]): WaitingRun | undefined {
  const last = events.at(-1);
  if (last?.payload.type !== 'response_done' || last.payload.status !== 'suspended') return undefined;
  const { script_id: scriptId } = last.payload;
  if (scriptId === undefined) return undefined;
  return { runId: last.run_id, turnId: last.turn_id, scriptId, nextSeq: last.seq + 1 };
}

/** What is told once, when a conversation can be kept no longer. */
export type LossListener = (message: string) => void;

interface WriterSettings {
  /** Of a conversation that begins. Left out: the file is there, and is gone on with. */
  head?: ThreadHead;
  onLost?: LossListener;
}

/** A thread that this process writes, and no other one. What cannot be written ends the keeping, not the conversation. */
export class ThreadWriter {
  readonly #path: string;
  readonly #file: number;
  readonly #lock: ThreadLock;
  readonly #onLost: LossListener;
  #isLost = false;

  /** Throws a UsageError where another process has it open, or the system refuses. */
  constructor(path: string, { head, onLost = warnOfLoss }: WriterSettings = {}) {
    this.#path = path;
    this.#onLost = onLost;
    const { lock, file } = orRefuse(
      () => openLocked(path, head),
      (code) =>
        head === undefined
          ? `${visibleLine(path)} cannot be gone on with (${code}). Make the file and its folder writable, or begin a new conversation.`
          : `The conversation cannot be kept in ${visibleLine(path)} (${code}). Make its folder writable, with room on the disk.`,
    );
    this.#lock = lock;
    this.#file = file;
  }

  write(line: ThreadHead | ThreadVoice): void {
    this.#keep(() => append(this.#file, line));
  }

  take(event: StreamEvent): void {
    if (PASSING.includes(event.payload.type)) return;
    this.#keep(() => {
      append(this.#file, event);
      if (event.payload.type === 'response_done') fsyncSync(this.#file);
    });
  }

  close(): void {
    if (this.#isLost) closeQuietly(this.#file);
    else this.#keep(() => closeSync(this.#file));
    this.#lock.release();
  }

  #keep(action: () => void): void {
    if (this.#isLost) return;
    try {
      action();
    } catch (error) {
      const code = systemCode(error);
      if (code === undefined) throw error;
      this.#isLost = true;
      this.#onLost(
        `${visibleLine(this.#path)} cannot be written (${code}): what is said from here on is not kept. Make room and begin a new conversation to keep it.`,
      );
    }
  }
}

/** What the system refuses is said in one sentence that names its code. */
export function orRefuse<Value>(action: () => Value, sentence: (code: string) => string): Value {
  try {
    return action();
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    throw new UsageError(sentence(code));
  }
}

export function lockOf(path: string): string {
  return `${path}.lock`;
}

function warnOfLoss(message: string): void {
  process.stderr.write(`toolscript: ${message}\n`);
}

function openLocked(path: string, head: ThreadHead | undefined): { lock: ThreadLock; file: number } {
  const lock = ThreadLock.take(lockOf(path));
  try {
    return { lock, file: head === undefined ? openWhole(path) : beginFile(path, head) };
  } catch (error) {
    lock.release();
    throw error;
  }
}

function beginFile(path: string, head: ThreadHead): number {
  const file = openSync(path, 'ax', 0o600);
  try {
    append(file, head);
    return file;
  } catch (error) {
    closeQuietly(file);
    rmSync(path, { force: true });
    throw error;
  }
}

/** One that was forgotten meanwhile does not come back empty. */
function openWhole(path: string): number {
  const file = openSync(path, constants.O_RDWR | constants.O_APPEND);
  try {
    dropTornLine(file);
    return file;
  } catch (error) {
    closeQuietly(file);
    throw error;
  }
}

/** What the end of a process cut off. */
function dropTornLine(file: number): void {
  const bytes = readFileSync(file);
  const end = bytes.lastIndexOf(0x0a) + 1;
  if (end < bytes.length) ftruncateSync(file, end);
}

function append(file: number, value: unknown): void {
  writeFileSync(file, `${JSON.stringify(value)}\n`);
}

/** Of a file that is given up. */
function closeQuietly(file: number): void {
  try {
    closeSync(file);
  } catch {}
}

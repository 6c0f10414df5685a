import type { GuestThrow, LogLevel, SandboxEnd, SandboxHeap, SandboxLimits } from '../../protocol/index.js';
import { jsonDepthExceeds, MAX_JSON_DEPTH } from '../../protocol/json.js';
import type { CodePlace } from './call-sites.js';

/**
 * The message of the guest's bridge at the end of a segment, as one text; empty if the segment has nothing to report.
 *
 * The message starts with `!` if the script has ended and with `:` otherwise. A JSON object with the message follows on
 * one line, then a line with the JSON texts of all calls' arguments in order. The arguments are separate because they
 * are JSON already: inside the object they would be escaped again and parsed twice.
 *
 * The guest is hostile: a script may have captured its bridge. So the host trusts nothing in the text. It counts the
 * calls and reads their positions itself while they are made, checks every member against its type and the script's
 * limits, and throws a `GuestBreach` for a text that breaks a rule, which ends the script.
 */
export interface Outbox {
  readonly calls: readonly OutboxCall[];
  readonly logs: readonly { readonly level: LogLevel; readonly text: string }[];
  readonly progress: readonly { readonly message: string; readonly kind: 'info' | 'warn' }[];
  readonly output: string;
  readonly dropped: { readonly logs: number; readonly progress: number };
  readonly end: GuestEnd | undefined;
}

interface OutboxCall {
  readonly name: string;
  /** JSON text, if the guest is honest. */
  readonly argsJson: string;
  readonly argsProblem: string | undefined;
}

/** A script's own end, without the rejections that only the host knows. */
export type GuestEnd = Extract<SandboxEnd, { type: 'returned' | 'threw' | 'unserializable' | 'return_too_large' }>;

/**
 * The guest's message breaks a rule: the bridge never writes such a message, so other code in the guest has written it.
 */
export class GuestBreach extends Error {
  /** `how`: a clause or a noun phrase that says which rule the message breaks. */
  constructor(how: string) {
    super(
      `the guest's message breaks a rule: ${how}. The script may have attacked the sandbox. Otherwise this is a fault of Toolscript; please report this message with the script`,
    );
  }
}

/**
 * Maximum length of an error's texts, a console line or a progress message. The guest truncates such texts at 8 192
 * units.
 */
const MAX_TEXT_UNITS = 8_400;
const MAX_NAME_UNITS = 512;
/** Maximum length of the report of the variables in scope. */
const MAX_SCOPE_UNITS = 1_048_576;
const MAX_HEAD_UNITS = 1_024;
const MAX_LARGEST_KEYS = 3;

/** Maximum total size of the arguments of one segment, as a multiple of the maximum for one call. */
const MAX_ARGUMENTS_AT_ONCE = 16;

const ENDED = '!';
const GOES_ON = ':';

const EMPTY_OUTBOX: Outbox = Object.freeze({
  calls: [],
  logs: [],
  progress: [],
  output: '',
  dropped: Object.freeze({ logs: 0, progress: 0 }),
  end: undefined,
});

/** Whether the guest's message reports that the script has ended. */
export function saysEnded(text: string): boolean {
  return text.startsWith(ENDED);
}

/**
 * Reads the guest's message. `callsMade`: the number of calls that the host counted in this segment. Throws a
 * `GuestBreach` if the message breaks a rule.
 */
export function readOutbox(text: string, callsMade: number, limits: SandboxLimits): Outbox {
  if (text === '') {
    check(callsMade === 0, 'unreported calls');
    return EMPTY_OUTBOX;
  }
  const ended = saysEnded(text);
  check(ended || text.startsWith(GOES_ON), 'no mark at the start');
  const lineEnd = text.indexOf('\n');
  check(lineEnd > 0 && lineEnd <= maxLineUnits(limits), 'no line ending, or a line that is too long');
  const said = parseRecord(text.slice(1, lineEnd));
  for (const name of Object.keys(said)) check(MEMBERS.has(name), 'an unknown member');
  const { calls = [], logs = [], progress = [], output = '', dropped = [0, 0], end } = said;
  // defence: one-end-of-a-script
  check((end !== undefined) === ended, 'an invalid end');
  return {
    calls: readCalls(list(calls, callsMade), callsMade, text, lineEnd + 1, limits),
    logs: list(logs, limits.maxLogEvents).map(readLog),
    progress: list(progress, limits.maxProgressEvents * 4 + 64).map(readProgress),
    output: boundedText(output, limits.maxOutputBytes + 1),
    dropped: readDroppedCounts(list(dropped, 2)),
    end: end === undefined ? undefined : readEnd(list(end, 4), limits),
  };
}

/** The guest's report of a thrown value. Throws a `GuestBreach`. */
export function readGuestThrow(value: unknown): GuestThrow {
  const { name, message, stack, callIndex, code } = record(value);
  const thrown = {
    name: boundedText(name, MAX_TEXT_UNITS),
    message: boundedText(message, MAX_TEXT_UNITS),
    stack: boundedText(stack, MAX_TEXT_UNITS),
  };
  if (code === undefined && callIndex === undefined) return thrown;
  return {
    ...thrown,
    ...(callIndex !== undefined && { callIndex: count(callIndex) }),
    ...(code !== undefined && { code: boundedText(code, MAX_NAME_UNITS) }),
  };
}

/** The guest's report of the variables in scope; see `finishCell` of the bridge. Throws a `GuestBreach`. */
export function readScope(json: string): Pick<SandboxHeap, 'names' | 'kept'> {
  check(json.length <= MAX_SCOPE_UNITS, 'too many variables');
  const { names, kept } = parseRecord(json);
  const numbers = Object.entries(record(names)).map(([name, cell]) => [boundedText(name, MAX_NAME_UNITS), count(cell)]);
  return {
    names: Object.assign(Object.create(null), Object.fromEntries(numbers)) as Record<string, number>,
    kept: kept === undefined ? undefined : boundedText(kept, MAX_NAME_UNITS),
  };
}

export function parseGuestThrow(json: string): GuestThrow {
  return readGuestThrow(parse(json));
}

/**
 * Puts the guest's text into the frame in which the worker sends the text to the host: the index of the segment's first
 * call and the places of its calls precede the text.
 */
export function frameSegment(firstCall: number, places: readonly CodePlace[], text: string): string {
  if (text === '') return '';
  let head = `${firstCall};`;
  for (const { line, column } of places) head += `${line},${column};`;
  return head + text;
}

export interface FramedSegment {
  readonly firstCall: number;
  readonly places: readonly CodePlace[];
  /** The text that the guest wrote. */
  readonly text: string;
}

export function readFrame(framed: string): FramedSegment {
  if (framed === '') return { firstCall: 0, places: [], text: '' };
  let at = 0;
  const number = (): number => {
    let value = 0;
    for (let unit = framed.charCodeAt(at); unit >= 48 && unit <= 57; unit = framed.charCodeAt(++at))
      value = value * 10 + unit - 48;
    at++;
    return value;
  };
  const firstCall = number();
  const places: CodePlace[] = [];
  while (framed[at] !== GOES_ON && framed[at] !== ENDED && at < framed.length)
    places.push({ line: number(), column: number() });
  return { firstCall, places, text: framed.slice(at) };
}

/** The maximum length of the line with the message. An escaped unit takes at most six characters. */
function maxLineUnits({ maxCalls, maxLogBytes, maxOutputBytes, maxReturnBytes, maxProgressEvents }: SandboxLimits) {
  const texts = maxCalls + maxProgressEvents * 4 + 64;
  return 6 * (maxLogBytes + maxOutputBytes + maxReturnBytes + texts * MAX_TEXT_UNITS) + 1_048_576;
}

const MEMBERS = new Set(['calls', 'logs', 'progress', 'output', 'dropped', 'end']);
const LEVELS: ReadonlySet<unknown> = new Set<LogLevel>(['log', 'info', 'warn', 'error', 'debug']);

// defence: outbox-rules
function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new GuestBreach(what);
}

/** Throws a `GuestBreach`. */
function parseRecord(json: string): Readonly<Record<string, unknown>> {
  return record(parse(json));
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new GuestBreach('the message is not JSON');
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  check(typeof value === 'object' && value !== null && !Array.isArray(value), 'not a record');
  return value as Record<string, unknown>;
}

function list(value: unknown, maxLength: number): readonly unknown[] {
  check(Array.isArray(value) && value.length <= maxLength, 'not a list, or one that is too long');
  return value as unknown[];
}

function boundedText(value: unknown, maxUnits: number): string {
  check(typeof value === 'string' && value.length <= maxUnits, 'not a string, or one that is too long');
  return value;
}

function count(value: unknown): number {
  check(typeof value === 'number' && Number.isSafeInteger(value) && value >= 0, 'not a count');
  return value;
}

function readCalls(
  calls: readonly unknown[],
  callsMade: number,
  text: string,
  argsAt: number,
  limits: SandboxLimits,
): OutboxCall[] {
  // defence: host-counts-calls
  check(calls.length === callsMade, 'fewer calls than were made');
  let from = argsAt;
  const read = calls.map((entry) => {
    const [name, length, problem, ...more] = list(entry, 3);
    check(more.length === 0, 'a call with unknown members');
    // defence: bounded-arguments
    check(count(length) <= limits.maxToolInputBytes, 'arguments that are too long');
    const argsJson = text.slice(from, from + (length as number));
    from += length as number;
    return {
      name: boundedText(name, MAX_NAME_UNITS),
      argsJson,
      argsProblem: problem === undefined ? undefined : boundedText(problem, 2 * MAX_TEXT_UNITS),
    };
  });
  check(from === text.length, 'a wrong total length of the arguments');
  check(from - argsAt <= MAX_ARGUMENTS_AT_ONCE * limits.maxToolInputBytes, 'arguments that are too long together');
  return read;
}

function readLog(entry: unknown): Outbox['logs'][number] {
  const [level, text] = list(entry, 2);
  check(LEVELS.has(level), 'an unknown console level');
  return { level: level as LogLevel, text: boundedText(text, MAX_TEXT_UNITS) };
}

function readProgress(entry: unknown): Outbox['progress'][number] {
  const [message, kind] = list(entry, 2);
  check(kind === 'info' || kind === 'warn', 'an unknown kind of progress');
  return { message: boundedText(message, MAX_TEXT_UNITS), kind };
}

function readDroppedCounts([logs, progress]: readonly unknown[]): Outbox['dropped'] {
  return { logs: count(logs), progress: count(progress) };
}

function readEnd([type, ...parts]: readonly unknown[], limits: SandboxLimits): GuestEnd {
  switch (type) {
    case 'returned':
      return { type, json: readValue(parts[0], limits.maxReturnBytes), unhandled: [] };
    case 'threw':
      return { type, error: readGuestThrow(parts[0]), unhandled: [] };
    case 'unserializable':
      return { type, path: boundedText(parts[0], MAX_TEXT_UNITS), reason: boundedText(parts[1], MAX_TEXT_UNITS) };
    case 'return_too_large':
      return {
        type,
        bytes: count(parts[0]),
        head: boundedText(parts[1], MAX_HEAD_UNITS),
        largestKeys: list(parts[2], MAX_LARGEST_KEYS).map((key) => boundedText(key, MAX_TEXT_UNITS)),
      };
    default:
      throw new GuestBreach('the end of the script is unknown');
  }
}

/**
 * JSON text of the script's value. Throws a `GuestBreach` if the value exceeds the limits that the guest itself
 * applies.
 */
function readValue(value: unknown, maxBytes: number): string | undefined {
  if (value === undefined) return undefined;
  const json = boundedText(value, maxBytes);
  // defence: bounded-value
  check(json.length * 3 <= maxBytes || Buffer.byteLength(json) <= maxBytes, 'a value that is too large');
  // defence: bounded-value-depth
  check(
    json.length <= 2 * MAX_JSON_DEPTH || !jsonDepthExceeds(json, MAX_JSON_DEPTH),
    'a value that is nested too deeply',
  );
  parse(json);
  return json;
}

// The stacks that a script can read contain neither frames of the bridge nor lines that are not in the model's source.
import { apply, defineProperty, Error, getOwnPropertyDescriptor, max, TypeError, WeakMap } from '../primordials.js';
import {
  isError,
  join,
  lastIndexOf,
  match,
  replace,
  slice,
  split,
  startsWith,
  toText,
  weakGet,
  weakSet,
} from './captured.js';
import { errorRecords } from './errors.js';
import { earlierLine, originalPlace } from './positions.js';

const MAX_FRAMES = 10;
const SCRIPT_FILE = 'script.ts:';
/** The file of a script that belongs to a program, with the number of the script. */
const CELL_FRAME = /^ {4}at (.*?) ?\((\d+)\.script\.ts:(\d+):(\d+)\)$/;
const BREAK_BEFORE_FRAME = /\r?[\n\r\u2028\u2029](?=\s*at\s)/g;
/** The text shown instead of a text whose reading throws. */
export const NOT_SHOWN = '[a value that cannot be shown]';

const engineStack = getOwnPropertyDescriptor(Error.prototype, 'stack')!.get!;
const engineCapture = Error.captureStackTrace;

/** The engine's stack text of each target of `Error.captureStackTrace`. */
const capturedStacks = new WeakMap<object, string>();

/**
 * The engine's stack text of an error or of a target of `Error.captureStackTrace`, with positions in the compiled code;
 * undefined for any other value.
 */
export function rawStack(value: unknown): unknown {
  return weakGet(capturedStacks, value) ?? (apply(engineStack, value, []) as unknown);
}

/**
 * One frame of the engine's stack text in the form that the script may read; empty if the frame is not the script's.
 */
function ownFrame(text: string): string {
  const at = lastIndexOf(text, SCRIPT_FILE);
  if (at < 0 || !startsWith(text, '    at ')) return '';
  if (currentCell !== 0) return cellFrame(text, true);
  const place = split(slice(text, at + SCRIPT_FILE.length), ':');
  const original = originalPlace(+place[0]!, +split(place[1] ?? '', ')')[0]!);
  if (original === undefined) return '';
  const name = slice(text, 7, max(at - 2, 7));
  return '    at ' + (name === '' || name === '<anonymous>' ? '' : name + ' ') + '(' + SCRIPT_FILE + original + ')';
}

let currentCell = 0;

export function beginCellStacks(cell: number): void {
  currentCell = cell;
}

/**
 * One frame of a program; empty if the frame belongs to no script. Frames of earlier scripts name the script and the
 * line. `isMapped`: whether frames of the running script get positions in its source.
 */
function cellFrame(text: string, isMapped: boolean): string {
  const found = match(CELL_FRAME, text);
  if (found === null) return '';
  const cell = +found[2]!;
  const line = +found[3]!;
  const column = +found[4]!;
  const name = found[1] === '' || found[1] === '<anonymous>' ? '' : found[1]! + ' ';
  if (cell !== currentCell) {
    const place = earlierLine(cell, line, column);
    return place === undefined ? '' : '    at ' + name + '(script ' + cell + ', line ' + place + ')';
  }
  const place = isMapped ? originalPlace(line, column) : line + ':' + column;
  return place === undefined ? '' : '    at ' + name + '(' + SCRIPT_FILE + place + ')';
}

/** The engine's stack text for the host, which maps the frames of the running script itself. */
export function hostStack(raw: string): string {
  if (currentCell === 0) return raw;
  const lines = split(raw, '\n');
  const frames: string[] = [];
  for (let index = 0; index < lines.length; index++) {
    const frame = cellFrame(lines[index]!, false);
    if (frame !== '') frames[frames.length] = frame;
  }
  return join(frames, '\n');
}

/** The frames of the script, one on each line, with positions in the model's source. */
function ownFrames(raw: string): string {
  const lines = split(raw, '\n');
  const frames: string[] = [];
  for (let index = 0; index < lines.length && frames.length < MAX_FRAMES; index++) {
    const frame = ownFrame(lines[index]!);
    if (frame !== '') frames[frames.length] = frame;
  }
  return join(frames, '\n');
}

/** The value of `stack` for a script: text, or the engine's own value if that is not text. */
export function scriptStack(value: unknown): unknown {
  const frames = weakGet(errorRecords, value)?.frames;
  const raw = frames === undefined ? rawStack(value) : undefined;
  if (frames === undefined && typeof raw !== 'string') return raw;
  const shown = frames ?? ownFrames(raw as string);
  const title = isError(value) ? errorTitle(value) : 'Error';
  return shown === '' ? title : title + '\n' + shown;
}

/** An error's name and message, without lines that look like frames. */
export function errorTitle(error: Error): string {
  const name = readText(error, 'name', 'Error');
  const message = readText(error, 'message', '');
  const title = message === '' ? name : name + ': ' + message;
  return replace(title, BREAK_BEFORE_FRAME, '\\n');
}

/** The text of a member; `fallback` if the member is undefined, and NOT_SHOWN if reading it throws. */
export function readText(error: Error, name: 'name' | 'message', fallback: string): string {
  try {
    const text: unknown = error[name];
    return text === undefined ? fallback : toText(text);
  } catch {
    return NOT_SHOWN;
  }
}

const stackAccessors = getOwnPropertyDescriptor(
  {
    get stack() {
      return scriptStack(this);
    },
    set stack(value) {
      if (!defineProperty(this, 'stack', { value, writable: true, enumerable: false, configurable: true }))
        throw new TypeError('Cannot set the stack');
    },
  },
  'stack',
)!;

const { captureStackTrace } = {
  captureStackTrace(target: object, below?: unknown): void {
    engineCapture(target, typeof below === 'function' ? below : captureStackTrace);
    const made = getOwnPropertyDescriptor(target, 'stack');
    if (typeof made?.value !== 'string') return;
    weakSet(capturedStacks, target, made.value);
    made.value = scriptStack(target);
    defineProperty(target, 'stack', made);
  },
};

/** The script's frames at the call of a function, each on a line of its own after a line break. */
export function framesBelow(below: unknown): string {
  const target: { stack?: string | undefined } = {};
  engineCapture(target, below);
  const frames = ownFrames(target.stack ?? '');
  return frames === '' ? '' : '\n' + frames;
}

/** Replaces the engine's stacks with the script's view of them. */
export function installStacks(): void {
  const { get, set } = stackAccessors;
  defineProperty(Error.prototype, 'stack', { get: get!, set: set!, enumerable: false, configurable: true });
  defineProperty(Error, 'captureStackTrace', {
    value: captureStackTrace,
    writable: true,
    enumerable: false,
    configurable: true,
  });
}

// The end of the script, which is one more entry of the outbox.
import { freeze, keys, stringify } from '../primordials.js';
import { isError, matches, promiseThen, slice, weakGet } from './captured.js';
import { errorRecords, isOfThisScript } from './errors.js';
import { capText, describeText, thrownMessage } from './inspect.js';
import { NOT_CARRIED, whyNotWritten, writeJson } from './json.js';
import type { Bytes } from './json-forms.js';
import { limits } from './limits.js';
import { outbox } from './outbox.js';
import { hostStack, rawStack, readText } from './stacks.js';

const MAX_HEAD = 1024;
const MAX_MEASURED_KEYS = 200;
const MAX_LARGEST_KEYS = 3;

interface ThrownRecord {
  name: string;
  message: string;
  stack: string;
  callIndex?: number | undefined;
  code?: string | undefined;
}

/** The value of the script, if it was too large to return. */
let largeValue: { readonly value: unknown } | undefined;

export function takeLargeValue(): { readonly value: unknown } | undefined {
  const taken = largeValue;
  largeValue = undefined;
  return taken;
}

export function start(script: () => Promise<unknown>): void {
  promiseThen(script(), onReturned, onThrew);
}

function onReturned(value: unknown): void {
  try {
    const json = writeJson(value, 'value', undefined, VALUE_CARRIERS);
    if (json === undefined) {
      outbox.end = '["returned"]';
      return;
    }
    const bytes = json.length > limits.result * 8 ? json.length : byteLength(json);
    outbox.end = bytes > limits.result ? tooLarge(value, json, bytes) : '["returned",' + stringify(json) + ']';
    if (bytes > limits.result) largeValue = { value };
  } catch (error) {
    if (error === NOT_CARRIED) {
      const { path, reason } = whyNotWritten();
      outbox.end = '["unserializable",' + stringify(capText(path)) + ',' + stringify(reason) + ']';
    } else outbox.end = '["threw",' + describeThrown(error, whyNotWritten().path) + ']';
  }
}

/** Neither a model nor most hosts can use bytes as text, so a value has their type and length instead. */
const VALUE_CARRIERS = freeze({
  __proto__: null,
  carryBytes: ({ type, length }: Bytes) => ({ type, length }),
  carryCycle: (path: string) => '[cycle: ' + path + ']',
});

function onThrew(error: unknown): void {
  outbox.end = '["threw",' + describeThrown(error) + ']';
}

function tooLarge(value: unknown, json: string, bytes: number): string {
  const head = stringify(slice(json, 0, MAX_HEAD));
  return '["return_too_large",' + bytes + ',' + head + ',' + stringify(largestKeys(value)) + ']';
}

function largestKeys(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const names = keys(value);
  const sized: { name: string; size: number }[] = [];
  for (let index = 0; index < names.length && index < MAX_MEASURED_KEYS; index++) {
    const name = names[index]!;
    const json = stringify((value as Record<string, unknown>)[name]) as string | undefined;
    sized[index] = { name, size: json === undefined ? 0 : json.length };
  }
  const best: string[] = [];
  while (best.length < MAX_LARGEST_KEYS) {
    let top: (typeof sized)[number] | undefined;
    for (let index = 0; index < sized.length; index++) if (sized[index]!.size > (top?.size ?? 0)) top = sized[index];
    if (top === undefined) break;
    best[best.length] = capText(top.name) + ' (' + top.size + ')';
    top.size = 0;
  }
  return best;
}

const NOT_ASCII = /[^\0-\x7f]/u;

/**
 * UTF-8 length of JSON text; for a text that is certainly within the limit, the number of its characters. Comparing
 * characters takes half as long as a call for each character.
 */
function byteLength(text: string): number {
  let bytes = text.length;
  if (bytes * 3 <= limits.result || !matches(NOT_ASCII, text)) return bytes;
  for (let index = 0; index < text.length; index++) {
    const unit = text[index]!;
    if (unit >= '\x80') bytes += unit >= '\u0800' && (unit < '\ud800' || unit > '\udfff') ? 2 : 1;
  }
  return bytes;
}

/**
 * JSON text of a thrown value. The script controls the texts of the value; the bridge wrote the record of an error.
 * `path`: the member whose getter or toJSON threw the value, if known.
 */
export function describeThrown(value: unknown, path = ''): string {
  const record = weakGet(errorRecords, value);
  let thrown: ThrownRecord = { name: '', message: 'a value that cannot be shown', stack: '' };
  try {
    thrown = isError(value)
      ? { name: capText(readText(value, 'name', 'Error')), message: thrownMessage(value), stack: readStack(value) }
      : { name: '', message: capText(describeText(value)), stack: '' };
  } catch {
    // The value is a revoked proxy, or a proxy whose traps throw.
  }
  // The host recognizes the engine's own errors by their messages, so these messages stay unchanged.
  if (path !== '' && thrown.name !== 'InternalError' && thrown.message !== 'null')
    thrown.message = capText(thrown.message + ' (thrown while ' + path + ' was read)');
  thrown.callIndex = isOfThisScript(value) ? record?.call : undefined;
  thrown.code = record?.code;
  return stringify(thrown);
}

/**
 * The engine's text of the stack, with positions in the compiled code of this script: the host maps them itself, so the
 * script cannot forge them.
 */
function readStack(value: Error): string {
  const raw = rawStack(value);
  return typeof raw === 'string' ? capText(hostStack(raw)) : '';
}

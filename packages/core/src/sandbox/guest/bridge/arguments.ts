// Writes the arguments of calls as JSON text.
import { create, freeze, getPrototypeOf, isArray, keys, Object, stringify } from '../primordials.js';
import { isFiniteNumber, toBase64 } from './captured.js';
import { capText, describeText } from './inspect.js';
import { NOT_CARRIED, whyNotWritten, writeJson } from './json.js';
import type { Bytes } from './json-forms.js';
import { limits } from './limits.js';
import { outbox } from './outbox.js';

/** The same factor as in `quickjs/outbox.ts`. */
const MAX_ARGUMENTS_AT_ONCE = 16;
/** The same number as in `quickjs/outbox.ts`. */
const MAX_BYTES_MEMBERS = 16;
const MAX_QUOTED_NAMES = 1000;
const MAX_QUOTED_NAME_LENGTH = 64;

/** Member names as JSON text with a colon, by name. */
const quotedNames: Record<string, string | undefined> = create(null) as never;
let quotedCount = 0;

function quoteName(name: string): string {
  const quoted = stringify(name) + ':';
  if (name.length <= MAX_QUOTED_NAME_LENGTH && quotedCount++ < MAX_QUOTED_NAMES) quotedNames[name] = quoted;
  return quoted;
}

/**
 * JSON text of an object whose own members are all strings, numbers or booleans; empty for any other value. Most
 * arguments are such objects, and `stringify` takes three times as long for them.
 */
function writeFlat(value: unknown): string {
  if (typeof value !== 'object' || value === null || getPrototypeOf(value) !== Object.prototype) return '';
  const members = value as Record<string, unknown>;
  if (isArray(value) || typeof members.toJSON === 'function') return '';
  const names = keys(value);
  // An object without members, or with a member `0`, may be a boxed number or string.
  if (names.length === 0 || names[0] === '0') return '';
  let text = '{';
  for (let index = 0; index < names.length; index++) {
    const name = names[index]!;
    const member = members[name];
    if (index > 0) text += ',';
    text += quotedNames[name] ?? quoteName(name);
    switch (typeof member) {
      case 'string':
        text += stringify(member);
        continue;
      case 'number':
        text += isFiniteNumber(member) ? member : 'null';
        continue;
      case 'boolean':
        text += member;
        continue;
      default:
        return '';
    }
  }
  return text + '}';
}

/**
 * The arguments as JSON text. If a getter or the toJSON of a member throws an error, `whyNotWritten` returns the path
 * of that member.
 */
function writeArgs(value: unknown): string | undefined {
  let flat = '';
  try {
    flat = writeFlat(value);
  } catch {
    // `writeJson` below repeats the work and reports the path of the member that throws.
  }
  return flat || writeJson(value, 'args', undefined, ARGUMENT_CARRIERS);
}

/**
 * The bytes in the arguments that were just written, which are base64 text there: `[keys, problem]`. The host knows the
 * schema: it refuses them with this problem where the schema does not take base64.
 */
let written: [keys: readonly string[], problem: string][] = [];

export function argumentsBytes(): readonly (readonly [keys: readonly string[], problem: string])[] {
  return written;
}

function carryBytes({ data }: Bytes, keys: readonly string[], problem: string): string | undefined {
  // defence: bounded-argument-bytes
  if (written.length >= MAX_BYTES_MEMBERS) return undefined;
  for (let index = 0; index < keys.length; index++) (keys as string[])[index] = capText(keys[index]!);
  written[written.length] = [keys, capText(problem)];
  return toBase64(data);
}

const ARGUMENT_CARRIERS = freeze({ __proto__: null, carryBytes });

/** The reason why JSON cannot represent the arguments that were just written; empty if JSON can. */
let problem = '';

export function argumentsProblem(): string {
  return problem;
}

/**
 * The arguments' JSON text. If JSON cannot represent the arguments, the text is empty and `argumentsProblem` returns
 * the reason.
 */
export function writeArguments(value: unknown): string {
  problem = '';
  if (written.length > 0) written = [];
  if (value === undefined) return '{}';
  try {
    const text = writeArgs(value);
    // A getter or a toJSON may have called tools and thereby set `problem`, so this line comes last.
    problem = text === undefined ? 'args: a value that JSON cannot represent' : problemOfSize(text.length);
    return problem === '' ? text! : '';
  } catch (error) {
    // defence: bounded-argument-problem
    problem =
      error === NOT_CARRIED
        ? capText(whyNotWritten().path) + ': ' + whyNotWritten().reason
        : capText(whyNotWritten().path) + ': cannot be written as JSON (' + capText(describeText(error)) + ')';
  }
  return '';
}

function problemOfSize(units: number): string {
  const { input } = limits;
  if (outbox.argumentUnits + units > input * MAX_ARGUMENTS_AT_ONCE)
    return (
      'args: the calls made at once carry more than ' +
      input * MAX_ARGUMENTS_AT_ONCE +
      ' characters; await some of them first'
    );
  return units > input ? 'args: ' + units + ' characters of JSON are more than the ' + input + ' a call may carry' : '';
}

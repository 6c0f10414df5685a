import { CALL_FENCES, NOTATIONS } from './notations.js';
import { readKeywordCall, type ForeignCall } from './keyword-call.js';

export interface ForeignCalls {
  readonly calls: readonly ForeignCall[];
  /** The beginning of the first call as it is written: `<tool_call>`, `[TOOL_CALLS]`, `{"name":`. */
  readonly notation: string;
  /** True: the text contains marks that only a notation of calls has. False: JSON, or a call with keywords. */
  readonly isMarked: boolean;
}

/**
 * Reads a text that consists of calls in the notations of other systems, and nothing else. Undefined for any other
 * text. `mayEndEarly`: other text may follow the calls.
 */
export function readForeignCalls(
  text: string,
  { mayEndEarly = false }: { readonly mayEndEarly?: boolean | undefined } = {},
): ForeignCalls | undefined {
  const reader = new Reader(withoutFence(text));
  return reader.read(mayEndEarly);
}

/** The mark of a notation with which a text begins. */
export function foreignMark(text: string): string | undefined {
  const start = text.trimStart();
  return OPENING_MARKS.find((mark) => start.startsWith(mark)) ?? INVOKE_MARK.exec(start)?.[0];
}

/** The longest first: `<|tool_call|>` begins like `<|tool_calls_section_begin|>`. */
const OPENING_MARKS = longestFirst(NOTATIONS.flatMap(({ marks }) => marks));
const MARKS = longestFirst([...OPENING_MARKS, ...NOTATIONS.flatMap(({ others = [] }) => others)]);

function longestFirst(marks: readonly string[]): readonly string[] {
  return [...new Set(marks)].toSorted((left, right) => right.length - left.length);
}

const INVOKE_MARK =
  /^<(?:antml:|｜DSML｜)?(?:invoke name=|function=|function name=)|^<\|channel\|>\w{1,20}\s{0,8}to=|^Action:[^\n]{1,150}\r?\n\s{0,8}Action Input:/u;
const FENCE = /^`{3,32}[ \t]{0,8}([\w-]{0,20})[ \t]{0,8}\r?\n/u;
const FENCE_END = /(?<![\s`])\s*`{3,}\s*$/u;

function withoutFence(text: string): string {
  const fence = FENCE.exec(text);
  if (fence === null || !(fence[1] === '' || CALL_FENCES.has(fence[1] ?? ''))) return text;
  return text.slice(fence[0].length).replace(FENCE_END, '');
}

const INVOKE = /<(antml:|｜DSML｜)?invoke\s+name=["']([\w.:/-]{1,128})["']\s*>/uy;
const PARAMETER = /<(?:antml:|｜DSML｜)?param(?:eter)?(?:=|\s+name=["']?)([^"'<>\s]{1,128})["']?([^<>]{0,40})>/uy;
const FUNCTION = /<function(?:=|\s+name=["'])([\w.:/-]{1,128})["']?\s*>/uy;
const NAMED =
  /(?:function\s{0,8}<｜tool▁sep｜>)?\s{0,8}([\w.:/-]{1,128})\s{0,8}(?:<｜tool▁sep｜>|<\|tool_call_argument_begin\|>|(?:\[CALL_ID\]\w{1,64})?\[ARGS\])?\s{0,8}(?:```json)?\s{0,8}(?=\{)/uy;
const NAMED_WITHOUT_ARGUMENTS = /([\w.:/-]{1,128})\s*(?=<\/tool_call>|<arg_key>)/uy;
const CHANNEL =
  /(?:<\|channel\|>(?:commentary|analysis))?\s{0,8}to=([\w.:/-]{1,128})\s{0,8}(?:<\|channel\|>commentary\s{0,8})?(?:<\|constrain\|>)?(?:json|code)?\s{0,8}<\|message\|>/uy;
const REACT = /Action:[ \t]*([\w.:/-]{1,128})[ \t]*\r?\n\s*Action Input:\s*(?=\{)/uy;
const ACTION_END = /\s*(?:```)?/uy;

/** Reads calls one after the other. Every step either moves on or ends the reading, so the time is linear. */
class Reader {
  readonly #text: string;
  readonly #calls: ForeignCall[] = [];
  #index = 0;
  #isMarked = false;

  constructor(text: string) {
    this.#text = text;
  }

  read(mayEndEarly: boolean): ForeignCalls | undefined {
    this.#skipMarks();
    const start = Math.max(this.#text.search(/\S/u), 0);
    while (this.#index < this.#text.length) {
      if (!this.#readCall()) {
        if (mayEndEarly && this.#calls.length > 0) break;
        return undefined;
      }
      this.#skipMarks();
    }
    if (this.#calls.length === 0) return undefined;
    return {
      calls: this.#calls,
      notation: notationAt(this.#text, start),
      isMarked: this.#isMarked,
    };
  }

  #skipMarks(): void {
    for (;;) {
      const character = this.#text.charAt(this.#index);
      if (/[\s,;]/u.test(character)) this.#index += 1;
      else {
        const mark = MARKS.find((each) => this.#text.startsWith(each, this.#index));
        if (mark === undefined) return;
        this.#isMarked = true;
        this.#index += mark.length;
      }
    }
  }

  #readCall(): boolean {
    return (
      this.#readJson() ||
      this.#readInvoke() ||
      this.#readFunction() ||
      this.#readChannel() ||
      this.#readAction() ||
      (this.#isMarked && (this.#readNamed() || this.#readPairs())) ||
      this.#readKeywords()
    );
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#index;
    return pattern.exec(this.#text) ?? undefined;
  }

  #readJson(): boolean {
    const value = this.#json();
    const calls = value === undefined ? undefined : jsonCalls(value.value);
    if (value === undefined || calls === undefined) return false;
    this.#calls.push(...calls);
    this.#index = value.end;
    return true;
  }

  /** The JSON value at the index: an object or an array. */
  #json(from = this.#index): { readonly value: unknown; readonly end: number } | undefined {
    const end = jsonEnd(this.#text, from);
    if (end === undefined) return undefined;
    const value = parsedJson(this.#text.slice(from, end));
    return value === undefined ? undefined : { value, end };
  }

  #readInvoke(): boolean {
    const opening = this.#match(INVOKE);
    const end = opening && this.#endOf(opening, `</${opening[1] ?? ''}invoke>`);
    return opening !== undefined && end !== undefined && this.#addParameters(opening[2] ?? '', end);
  }

  #readFunction(): boolean {
    const opening = this.#match(FUNCTION);
    const end = opening && this.#endOf(opening, '</function>');
    return opening !== undefined && end !== undefined && this.#addParameters(opening[1] ?? '', end);
  }

  #endOf(opening: RegExpExecArray, closing: string): BodyEnd | undefined {
    const start = opening.index + opening[0].length;
    const end = this.#text.indexOf(closing, start);
    return end === -1 ? undefined : { start, end, next: end + closing.length };
  }

  #addParameters(name: string, { start, end, next }: BodyEnd): boolean {
    const body = this.#text.slice(start, end).trim();
    const args = body.startsWith('{') ? jsonArguments(body) : parameters(body);
    return args !== undefined && this.#add(name, args, next);
  }

  #add(name: string, args: ForeignCall['args'], next: number): boolean {
    this.#isMarked = true;
    this.#calls.push({ name: bareName(name), args });
    this.#index = next;
    return true;
  }

  #readNamed(): boolean {
    const named = this.#match(NAMED);
    if (named === undefined) return false;
    const value = this.#json(named.index + named[0].length);
    const args = value === undefined ? undefined : plainMembers(value.value);
    if (value === undefined || args === undefined) return false;
    ACTION_END.lastIndex = value.end;
    return this.#add(named[1] ?? '', args, value.end + (ACTION_END.exec(this.#text)?.[0].length ?? 0));
  }

  #readChannel(): boolean {
    return this.#readWithJson(CHANNEL);
  }

  #readAction(): boolean {
    return this.#readWithJson(REACT);
  }

  #readWithJson(pattern: RegExp): boolean {
    const opening = this.#match(pattern);
    const value = opening && this.#json(opening.index + opening[0].length);
    const args = value && plainMembers(value.value);
    return opening !== undefined && value !== undefined && args !== undefined
      ? this.#add(opening[1] ?? '', args, value.end)
      : false;
  }

  /** GLM writes keys and values in tags. */
  #readPairs(): boolean {
    const named = this.#match(NAMED_WITHOUT_ARGUMENTS);
    if (named === undefined) return false;
    const args: Record<string, unknown> = {};
    let index = named.index + named[0].length;
    for (;;) {
      const key = elementAt(this.#text, index, 'arg_key');
      const value = key && elementAt(this.#text, key.end, 'arg_value');
      if (key === undefined || value === undefined) break;
      args[key.text.trim()] = parameterValue(value.text);
      index = value.end;
    }
    return this.#add(named[1] ?? '', args, index);
  }

  #readKeywords(): boolean {
    const read = readKeywordCall(this.#text, this.#index);
    if (read === undefined) return false;
    for (const { name, args } of read.calls) this.#calls.push({ name: bareName(name), args });
    this.#index = read.end;
    return true;
  }
}

interface BodyEnd {
  readonly start: number;
  readonly end: number;
  readonly next: number;
}

function notationAt(text: string, start: number): string {
  const rest = text.slice(start, start + 200);
  return foreignMark(rest) ?? /^[[{(\s]*["']?[\w.<|]+["']?[:(=]?/u.exec(rest)?.[0] ?? rest.slice(0, 20);
}

/** Kimi numbers its calls: `functions.add:0`. */
function bareName(name: string): string {
  return name.replace(/:\d+$/u, '').replaceAll(/[:/]/gu, '.');
}

function elementAt(
  text: string,
  from: number,
  tag: string,
): { readonly text: string; readonly end: number } | undefined {
  const start = from + (/^\s*/u.exec(text.slice(from, from + 100))?.[0].length ?? 0);
  const opening = `<${tag}>`;
  const end = text.startsWith(opening, start) ? text.indexOf(`</${tag}>`, start) : -1;
  if (end === -1) return undefined;
  return {
    text: text.slice(start + opening.length, end),
    end: end + tag.length + 3,
  };
}

/** The parameters in tags; undefined if the text is anything else. */
function parameters(body: string): Record<string, unknown> | undefined {
  const args: Record<string, unknown> = {};
  let index = 0;
  while (index < body.length) {
    PARAMETER.lastIndex = index;
    const opening = PARAMETER.exec(body);
    if (opening === null) return undefined;
    const start = index + opening[0].length;
    const end = closingTagAt(body, start);
    if (end === undefined) return undefined;
    const value = body.slice(start, end.start);
    args[opening[1] ?? ''] = opening[2]?.includes('string="true"') === true ? value : parameterValue(value);
    index = end.end + (/^\s*/u.exec(body.slice(end.end, end.end + 1000))?.[0].length ?? 0);
  }
  return args;
}

const CLOSING_PARAMETER = /<\/(?:antml:|｜DSML｜)?param(?:eter)?>/gu;

function closingTagAt(body: string, from: number): { readonly start: number; readonly end: number } | undefined {
  CLOSING_PARAMETER.lastIndex = from;
  const closing = CLOSING_PARAMETER.exec(body);
  return closing === null ? undefined : { start: closing.index, end: closing.index + closing[0].length };
}

/** A number, a list and similar values are JSON; all other text is a string. Qwen writes values on lines of their own. */
function parameterValue(text: string): unknown {
  const trimmed = text.trim();
  const value = /^(?:-?\d|true$|false$|null$|[[{])/u.test(trimmed) ? parsedJson(trimmed) : undefined;
  return value === undefined ? text.replace(/^\r?\n/u, '').replace(/\r?\n$/u, '') : value;
}

/** The end of the JSON object or array that begins at the index. */
function jsonEnd(text: string, start: number): number | undefined {
  let depth = 0;
  let isInString = false;
  for (let index = start; index < text.length; index += 1) {
    const character = text.charAt(index);
    if (isInString) {
      if (character === '\\') index += 1;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    if (depth === 0) return index === start ? undefined : index + 1;
  }
  return undefined;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function plainMembers(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

/** The arguments: an object, or JSON text of an object. Absent arguments are none. */
function jsonArguments(value: unknown): Record<string, unknown> | undefined {
  if (value === undefined || value === '') return {};
  return plainMembers(typeof value === 'string' ? parsedJson(value) : value);
}

/** The tool that takes scripts. Its argument `code` is a script. */
export const SCRIPT_TOOL = 'run_script';

const LISTS = ['tool_calls', 'tool_uses', 'function_calls', 'calls'];
const NAMES = ['name', 'recipient_name', 'tool_name', 'tool', 'function_name', 'action'];
const ARGUMENTS = ['arguments', 'parameters', 'input', 'args', 'action_input', 'tool_input'];
const OTHERS = new Set(['id', 'type', 'index', 'call_id', 'status', 'role', 'content', 'thought']);

/** The calls that a JSON value describes, in the shapes of the APIs of OpenAI, Anthropic, Llama and others. */
function jsonCalls(value: unknown): readonly ForeignCall[] | undefined {
  if (Array.isArray(value)) {
    const calls = value.map(jsonCalls);
    return calls.length === 0 || calls.includes(undefined) ? undefined : calls.flatMap((each) => each ?? []);
  }
  const record = plainMembers(value);
  if (record === undefined) return undefined;
  const members = Object.keys(record).filter((key) => !OTHERS.has(key));
  const [first = '', second] = members;
  if (members.length === 1 && LISTS.includes(first)) return jsonCalls(record[first]);
  if (members.length === 1 && ['function', 'function_call', 'tool_call', 'functionCall', 'toolUse'].includes(first))
    return jsonCalls(record[first]);
  if (members.length === 1 && first === 'code' && typeof record[first] === 'string')
    return [{ name: SCRIPT_TOOL, args: { code: record[first] } }];
  const name = members.find((key) => NAMES.includes(key));
  const given = members.find((key) => ARGUMENTS.includes(key));
  if (members.length !== 2 || second === undefined || name === undefined || given === undefined) return undefined;
  const args = jsonArguments(record[given]);
  const written = record[name];
  return typeof written === 'string' && args !== undefined ? [{ name: bareName(written), args }] : undefined;
}

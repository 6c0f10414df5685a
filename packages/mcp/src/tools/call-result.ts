import { isRecord, jsonDepthExceeds, MAX_JSON_DEPTH, namesPrototype } from '@toolscript/core/internal';
import { ToolCallError } from '@toolscript/core';
import { isDeepStrictEqual } from 'node:util';
import { parseLossless } from '../connection/lossless-json.js';
import { plainLines } from '../connection/readable.js';
import { MAX_INLINE_LENGTH, readBlock, type ReadBlock } from './content-block.js';
import type { ImageCache } from './image-cache.js';

const MAX_ERROR_LENGTH = 4_000;
/** The data of an error is smaller than a result. */
const MAX_ERROR_INLINE_LENGTH = 8_000;
const MAX_ERROR_DATA_LENGTH = 16_000;

/** Whether a value fits the tool's declared output schema; undefined if it does, otherwise the problem. */
export type OutputProblem = (value: unknown) => string | undefined;

/** The value that a script gets for a result, and a warning if the result is not as declared. */
export interface CallValue {
  readonly value: unknown;
  readonly warning: string | undefined;
}

/**
 * Reads a result, which may differ from the protocol in any way: the type of the value may then differ from the
 * declaration, but nothing is lost.
 *
 * - The value is `structuredContent`. If there is more than the data says, such as other text or an image, an object
 *   gets it as `_content`. Data that is not an object becomes `{ structuredContent, text, content }`.
 * - Without `structuredContent`, the value is the text, parsed if it is a JSON object or list. If there is more than
 *   text, it is `{ text, content }`. It is null for an empty result.
 * - `_meta`, except the protocol's own members, is in `_meta`. Unknown members of the result are in `other`, and so are
 *   `isError` and `resultType` with a value that the protocol does not have.
 *
 * Throws a `ToolCallError` if the tool failed; its data has the same value.
 */
export function readResult(
  result: unknown,
  { name, outputProblem }: { readonly name: string; readonly outputProblem?: OutputProblem | undefined },
  images: ImageCache,
): CallValue {
  const parts = readParts(result, images);
  if (parts.isError) throw failure(name, readParts(result, images, MAX_ERROR_INLINE_LENGTH));
  const value = plainData(resultValue(parts));
  if (outputProblem === undefined) return { value, warning: undefined };
  const { structuredContent: data = value, texts } = parts;
  const problem = outputProblem(data);
  if (problem === undefined) return { value, warning: undefined };
  const text = texts.join('\n');
  if (parts.isText && text !== value && outputProblem(text) === undefined) return { value: text, warning: undefined };
  return {
    value,
    warning: `The result of the tool "${name}" is not as declared: ${problem}. The call ran, and the value is what the server sent: do not repeat the call.`,
  };
}

/** The parts of a result. */
interface ResultParts {
  readonly isError: boolean;
  readonly structuredContent: unknown;
  readonly blocks: readonly ReadBlock[];
  /** The texts of the blocks that are text. */
  readonly texts: readonly string[];
  /** Whether the result is only text, or empty. */
  readonly isText: boolean;
  /** `_meta` and `other`, if the result has them. */
  readonly more: Readonly<Record<string, unknown>>;
}

/** The values of the protocol's own members that say nothing more than what is read from them. */
const FLAGS: Readonly<Record<string, ReadonlySet<unknown> | undefined>> = {
  isError: new Set([true, false, 'true', 'false', null, undefined]),
  resultType: new Set(['complete', null, undefined]),
};

function readParts(result: unknown, images: ImageCache, inlineLength = MAX_INLINE_LENGTH): ResultParts {
  const members = isRecord(result) ? result : { structuredContent: result };
  const { content, structuredContent: data, _meta: meta, ...rest } = members;
  const { isError } = rest;
  const other = Object.fromEntries(Object.entries(rest).filter(([name, value]) => !FLAGS[name]?.has(value)));
  const given = Array.isArray(content) ? (content as unknown[]) : [content ?? []].flat();
  const inline = { left: inlineLength };
  const blocks = given.map((block) => readBlock(block, images, inline));
  const structuredContent = data ?? undefined;
  const more = { ...metaMember(meta), ...(Object.keys(other).length > 0 ? { other } : {}) };
  return {
    isError: isError === true || isError === 'true',
    structuredContent,
    blocks,
    texts: blocks.flatMap(({ text }) => (text === undefined ? [] : [text])),
    isText: structuredContent === undefined && Object.keys(more).length === 0 && blocks.every(({ isPlain }) => isPlain),
    more,
  };
}

/** `_meta` without the members of the protocol itself. */
function metaMember(meta: unknown): { _meta?: unknown } {
  if (meta === undefined || meta === null) return {};
  if (!isRecord(meta)) return { _meta: meta };
  const own = Object.entries(meta).filter(([name]) => !name.startsWith('io.modelcontextprotocol/'));
  return own.length === 0 ? {} : { _meta: Object.fromEntries(own) };
}

function resultValue({ structuredContent: data, blocks, texts, isText, more }: ResultParts): unknown {
  if (isText) return textValue(texts);
  const content = blocks.map(({ part }) => part);
  const text = texts.join('\n');
  if (data === undefined) return { text, content, ...more };
  const known = dataTexts(data);
  const beside = blocks.filter((block) => !(block.isPlain && isContained(block.text ?? '', data, known)));
  const isAlone = beside.length === 0;
  if (isAlone && Object.keys(more).length === 0) return data;
  if (isRecord(data) && !['_content', ...Object.keys(more)].some((name) => Object.hasOwn(data, name)))
    return { ...data, ...(isAlone ? {} : { _content: beside.map(({ part }) => part) }), ...more };
  return { structuredContent: data, text, content, ...more };
}

/**
 * The value of text parts. JSON parts become a list, because many servers send each element of a list as a separate
 * part. Null without parts.
 */
function textValue(texts: readonly string[]): unknown {
  if (texts.length === 0) return null;
  const parsed = texts.map(parsedJson);
  if (parsed.every((value) => value !== undefined)) return parsed.length === 1 ? parsed[0] : parsed;
  return texts.join('\n');
}

/** The JSON object or list of a text; undefined for all other texts, so that numbers and words stay text. */
function parsedJson(text: string): object | undefined {
  const start = text.trimStart()[0];
  if ((start !== '{' && start !== '[') || jsonDepthExceeds(text, MAX_JSON_DEPTH)) return undefined;
  try {
    return parseLossless(text) as object;
  } catch {
    return undefined;
  }
}

/** Maximum number of values of data in which a text is looked for. */
const MAX_DATA_TEXTS = 10_000;

/** Every text, number and boolean of data as text. */
function dataTexts(data: unknown): ReadonlySet<string> {
  const known = new Set<string>();
  const open: unknown[] = [data];
  while (open.length > 0 && known.size < MAX_DATA_TEXTS) {
    const value = open.pop();
    if (typeof value === 'object' && value !== null) open.push(...Object.values(value).slice(0, MAX_DATA_TEXTS));
    else known.add(String(value));
  }
  return known;
}

/** Whether data says what a text says: the text is a value of the data, or the JSON of the data or of one member. */
function isContained(text: string, data: unknown, known: ReadonlySet<string>): boolean {
  if (known.has(text) || text === '') return true;
  const parsed = parsedJson(text);
  if (parsed === undefined) return false;
  const members = typeof data === 'object' && data !== null ? Object.values(data) : [];
  const elements = members.length === 1 && Array.isArray(members[0]) ? (members[0] as unknown[]) : [];
  return [data, ...members, ...elements].some((value) => isDeepStrictEqual(value, parsed));
}

/** Data that every reader can keep: data that is nested too deeply, or that names a prototype, becomes its JSON text. */
function plainData(value: unknown): unknown {
  const json = JSON.stringify(value) ?? 'null';
  return jsonDepthExceeds(json, MAX_JSON_DEPTH) || namesPrototype(json, value) ? json : value;
}

function failure(name: string, parts: ResultParts): ToolCallError {
  const { texts, structuredContent: data, more } = parts;
  const isEmpty = parts.blocks.length === 0 && data === undefined && Object.keys(more).length === 0;
  const value = isEmpty ? undefined : plainData(resultValue(parts));
  const said = texts.filter((text) => text !== '');
  if (data !== undefined && !said.some((text) => isContained(text, data, new Set()))) said.push(JSON.stringify(data));
  if (said.length === 0 && !isEmpty) said.push(JSON.stringify(value, shortened));
  const reason = plainLines(said.join('\n'), MAX_ERROR_LENGTH);
  const message =
    reason === ''
      ? `The tool "${name}" failed and gave no reason. Check the arguments, and the log of its server.`
      : reason;
  return new ToolCallError('ToolExecutionError', message, {
    reason: 'tool',
    ...(isEmpty ? {} : { result: boundedData(value) }),
  });
}

const MAX_SHOWN_DATA = 100;

/** Leaves out the data of images and files. */
function shortened(key: string, value: unknown): unknown {
  const isLong = key === 'data' && typeof value === 'string' && value.length > MAX_SHOWN_DATA;
  return isLong ? `[${value.length} characters]` : value;
}

/** Data of an error: the beginning of its JSON text if it is too large. */
function boundedData(value: unknown): unknown {
  const json = JSON.stringify(value);
  return json.length <= MAX_ERROR_DATA_LENGTH ? value : `${json.slice(0, MAX_ERROR_DATA_LENGTH / 2)}…`;
}

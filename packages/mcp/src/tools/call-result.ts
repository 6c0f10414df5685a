import type { CallToolResult } from '@modelcontextprotocol/client';
import { jsonDepthExceeds, MAX_JSON_DEPTH } from '@toolscript/core/internal';
import { ToolCallError } from '@toolscript/core';
import { createHash } from 'node:crypto';
import { plainLines } from '../connection/readable.js';
import type { ToolDefinition } from './definition.js';
import type { ImageCache } from './image-cache.js';

const IMAGE_TYPES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
/** Maximum characters of base64 in one result; a script gets only the size of further data. */
const MAX_INLINE_LENGTH = 750_000;
const MAX_ERROR_LENGTH = 4_000;

type Block = CallToolResult['content'][number];

/**
 * Returns the value that a script gets for a result: `structuredContent` if there is one, otherwise the text, parsed if
 * it is a JSON object or list. If the result has more than text, the value is `{ text, content }` with every part.
 * Throws a `ToolCallError` if the tool failed, or if it declares an output schema and answered with text.
 */
export function readResult(
  result: CallToolResult,
  { name, outputSchema }: ToolDefinition,
  images: ImageCache,
): unknown {
  const { content, structuredContent, isError } = result;
  if (isError === true) throw new ToolCallError('ToolExecutionError', errorText(name, content));
  if (structuredContent !== undefined) return structuredContent;
  const value = contentValue(content, images);
  if (outputSchema !== undefined && typeof value !== 'object')
    throw new ToolCallError(
      'ToolExecutionError',
      `The tool "${name}" answered with text instead of its declared data. Report this to the author of the server.`,
    );
  return value;
}

function errorText(name: string, content: readonly Block[]): string {
  const text = plainLines(joinedText(content), MAX_ERROR_LENGTH);
  return text === ''
    ? `The tool "${name}" failed and gave no reason. Check the arguments, and the log of its server.`
    : text;
}

/** The value of a list of parts; null for an empty list. */
function contentValue(content: readonly Block[], images: ImageCache): unknown {
  if (content.length === 0) return null;
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  if (texts.length === content.length) return textValue(texts);
  const inline = { left: MAX_INLINE_LENGTH };
  return { text: texts.join('\n'), content: content.map((block) => resultPart(block, images, inline)) };
}

/**
 * The value of text parts. JSON parts become a list, because many servers send each element of a list as a separate
 * part.
 */
function textValue(texts: readonly string[]): unknown {
  const parsed = texts.map(parsedJson);
  if (parsed.every((value) => value !== undefined)) return parsed.length === 1 ? parsed[0] : parsed;
  return texts.join('\n');
}

/** The JSON object or list of a text; undefined for all other texts, so that numbers and words stay text. */
function parsedJson(text: string): object | undefined {
  const start = text.trimStart()[0];
  if ((start !== '{' && start !== '[') || jsonDepthExceeds(text, MAX_JSON_DEPTH)) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

function joinedText(content: readonly Block[]): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

function resultPart(block: Block, images: ImageCache, inline: { left: number }): unknown {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'image':
      return imagePart(block, images, inline);
    case 'audio':
      return { type: 'audio', mediaType: block.mimeType, ...inlineData(block.data, inline) };
    case 'resource':
      return { type: 'resource', ...resourceContents(block.resource, inline) };
    case 'resource_link': {
      const { uri, name, description, mimeType } = block;
      return { type: 'resource_link', uri, name, description, mimeType };
    }
    default:
      return block;
  }
}

function imagePart(
  { data, mimeType }: Extract<Block, { type: 'image' }>,
  images: ImageCache,
  inline: { left: number },
): unknown {
  const bytes = Buffer.from(data, 'base64');
  if (!IMAGE_TYPES.has(mimeType)) return { type: 'file', mediaType: mimeType, ...inlineData(data, inline) };
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  images.add(sha256, bytes);
  return { type: 'image', mediaType: mimeType, sha256, ...inlineData(data, inline) };
}

/** The base64 text, or its number of bytes if the result would become too large. */
function inlineData(data: string, inline: { left: number }): { data: string } | { bytes: number; dataOmitted: true } {
  inline.left -= data.length;
  if (inline.left >= 0) return { data };
  return { bytes: Buffer.byteLength(data, 'base64'), dataOmitted: true };
}

/** The contents of a resource: text unchanged, bytes as base64. */
export function resourceContents(
  resource: { uri: string; mimeType?: string | undefined; text?: string | undefined; blob?: string | undefined },
  inline: { left: number } = { left: MAX_INLINE_LENGTH },
): object {
  const { uri, mimeType, text, blob } = resource;
  const shared = { uri, ...(mimeType === undefined ? {} : { mimeType }) };
  return text !== undefined ? { ...shared, text } : { ...shared, ...inlineData(blob ?? '', inline) };
}

import { createHash } from 'node:crypto';
import { isRecord } from '@toolscript/core/internal';
import type { ImageCache } from './image-cache.js';

/** A block of a result's content, as scripts get it. */
export interface ReadBlock {
  readonly part: unknown;
  /** The text of a block that is text. */
  readonly text: string | undefined;
  /** Whether the block is text without members that a script might need. */
  readonly isPlain: boolean;
}

/** Maximum characters of base64 in one result; a script gets only the size of further data. */
export const MAX_INLINE_LENGTH = 750_000;

/** The characters of base64 that a result may still contain. */
export interface InlineRoom {
  left: number;
}

/** The first characters of the base64 of an image, and its type. */
const SIGNATURES = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
] as const;
const IMAGE_TYPES: ReadonlySet<unknown> = new Set(SIGNATURES.map(([, type]) => type));

/** Reads a block. A block that differs from the protocol stays as it is, without its null members. */
export function readBlock(block: unknown, images: ImageCache, inline: InlineRoom): ReadBlock {
  if (typeof block === 'string') return textBlock(block);
  if (!isRecord(block)) return { part: block, text: undefined, isPlain: false };
  const { annotations: _, ...members } = withoutNulls(block);
  const { type, text } = members;
  if (type === 'text' && typeof text === 'string') {
    const isPlain = Object.keys(members).length === 2;
    return isPlain ? textBlock(text) : { part: members, text, isPlain };
  }
  return { part: otherPart(members, images, inline), text: undefined, isPlain: false };
}

function textBlock(text: string): ReadBlock {
  return { part: { type: 'text', text }, text, isPlain: true };
}

function otherPart(block: Record<string, unknown>, images: ImageCache, inline: InlineRoom): unknown {
  const { type, data, mimeType, resource, ...more } = block;
  if (type === 'image' && typeof data === 'string') return { ...more, ...imagePart(data, mimeType, images, inline) };
  if (type === 'audio' && typeof data === 'string')
    return { ...more, type, mediaType: mimeType, ...inlineData(data, inline) };
  if (type === 'resource' && isRecord(resource)) return { ...more, type, ...resourceContents(resource, inline) };
  return block;
}

function imagePart(data: string, declared: unknown, images: ImageCache, inline: InlineRoom): object {
  const mediaType = IMAGE_TYPES.has(declared) ? declared : imageType(data);
  if (mediaType === undefined) return { type: 'file', mediaType: declared, ...inlineData(data, inline) };
  const bytes = Buffer.from(data, 'base64');
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  images.add(sha256, bytes);
  return { type: 'image', mediaType, sha256, ...inlineData(data, inline) };
}

/** The type of an image by its first bytes, for servers that declare none or an alias such as `image/jpg`. */
function imageType(data: string): string | undefined {
  return SIGNATURES.find(([start]) => data.startsWith(start))?.[1];
}

/** The base64 text, or its number of bytes if the result would become too large. */
function inlineData(data: string, inline: InlineRoom): { data: string } | { bytes: number; dataOmitted: true } {
  inline.left -= data.length;
  if (inline.left >= 0) return { data };
  return { bytes: Buffer.byteLength(data, 'base64'), dataOmitted: true };
}

/** The contents of a resource: text unchanged, bytes as base64, and its other members. */
export function resourceContents(
  resource: Readonly<Record<string, unknown>>,
  inline: InlineRoom = { left: MAX_INLINE_LENGTH },
): object {
  const { blob, ...more } = withoutNulls(resource);
  return typeof blob === 'string' ? { ...more, ...inlineData(blob, inline) } : { ...more, blob };
}

/** The protocol's optional members, which some servers send as null. */
const OPTIONAL: ReadonlySet<string> = new Set([
  '_meta',
  'annotations',
  'blob',
  'description',
  'icons',
  'mimeType',
  'size',
  'text',
  'title',
]);

function withoutNulls(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([name, value]) => value !== null || !OPTIONAL.has(name)));
}

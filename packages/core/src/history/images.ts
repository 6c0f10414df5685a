import { createHash } from 'node:crypto';
import {
  ImagePartSchema,
  MAX_IMAGE_BYTES,
  MAX_IMAGES,
  MAX_JSON_DEPTH,
  ToolCallError,
  type ImagePart,
  type ModelPart,
  type Outcome,
} from '../protocol/index.js';
import { oneLine } from './bounded-text.js';

/*
 * Images of a conversation.
 *
 * The result of a tool, or the value of a script, contains an image as a part
 * `{ type: 'image', mediaType, sha256, path?, data? }` at any depth. Items contain a reference to it, and texts contain
 * one line about it; neither contains base64. The bytes are resolved when the input of a model is built: from `data`,
 * otherwise by the host. A script can forge a part, so only bytes with the right hash pass, and a host's `loadImage`
 * must read only files that the host's tools may read.
 */

export interface CollectedImages {
  /** The first references, without `data` and without duplicates. */
  readonly images: readonly ImagePart[];
  /** The number of images omitted because of the maximum. */
  readonly leftOut: number;
}

/** Loads the bytes of a reference. Throws a `ToolCallError` with a message for the model. */
export type LoadImage = (image: ImagePart) => Promise<{ bytes: Uint8Array }>;

export interface ImageSources {
  /** Data in which parts may contain their bytes: the value of a script and the results of its operations. */
  within?: readonly unknown[] | undefined;
  loadImage?: LoadImage | undefined;
}

/** The images in plain JSON data, in order of appearance. */
export function collectImages(holders: readonly unknown[]): CollectedImages {
  const images = new Map<string, ImagePart>();
  forEachPart(holders, (part) => {
    const reference = readReference(part);
    if (reference !== undefined && !images.has(reference.sha256)) images.set(reference.sha256, reference);
  });
  const all = [...images.values()];
  return { images: all.slice(0, MAX_IMAGES), leftOut: Math.max(0, all.length - MAX_IMAGES) };
}

/** The values that may contain an outcome's images: the script's value, then the results of its operations. */
export function imageHolders(outcome: Outcome): unknown[] {
  const results = outcome.operations.map(({ result }) => result);
  return outcome.status === 'completed' ? [outcome.value, ...results] : results;
}

/** One line for each image, for users and for models that read only text. */
export function imageLines({ images, leftOut }: CollectedImages): string[] {
  const lines = images.map(
    (image) => `- ${imageName(image)} (${image.media_type}, sha256 ${image.sha256.slice(0, 12)}…)`,
  );
  return leftOut === 0 ? lines : [...lines, `- and ${leftOut} more, omitted: at most ${MAX_IMAGES} are attached`];
}

/**
 * Returns a copy of the value in which a note replaces base64: in every part, and in every text that repeats the data
 * of a part in `holders`. Returns the value itself if `holders` contain no base64.
 */
export function withoutImageData<Value>(value: Value, holders: readonly unknown[]): Value {
  let carriesData = false;
  const repeated = new Set<string>();
  forEachPart(holders, ({ data }) => {
    if (typeof data !== 'string') return;
    carriesData = true;
    if (data.length >= MIN_REPEATED_LENGTH && repeated.size < MAX_IMAGES) repeated.add(data);
  });
  return carriesData ? (strip(value, repeated, 0) as Value) : value;
}

/** Shorter data is not an image, and other texts may contain the same characters. */
const MIN_REPEATED_LENGTH = 64;

function strip(value: unknown, repeated: ReadonlySet<string>, depth: number): unknown {
  if (depth > MAX_DEPTH) return value;
  if (typeof value === 'string') return withoutRepeatedImages(value, repeated);
  if (Array.isArray(value)) return value.map((one) => strip(one, repeated, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  const isPart = (value as Members)['type'] === 'image';
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      isPart && key === 'data' && typeof member === 'string' ? remark(member) : strip(member, repeated, depth + 1),
    ]),
  );
}

/**
 * Turns references into model parts, in the same order. A line of text replaces an image whose bytes are missing, do
 * not match the hash, or are too large. Never rejects.
 */
export async function resolveImages(
  images: readonly ImagePart[],
  { within = [], loadImage }: ImageSources,
): Promise<ModelPart[]> {
  const inline = new Map<string, string>();
  forEachPart(within, ({ sha256, data }) => {
    if (typeof sha256 === 'string' && typeof data === 'string') inline.set(sha256, data);
  });
  const parts: ModelPart[] = [];
  for (const image of images.slice(0, MAX_IMAGES)) parts.push(await resolveImage(image, inline, loadImage));
  return parts;
}

async function resolveImage(
  image: ImagePart,
  inline: ReadonlyMap<string, string>,
  loadImage: LoadImage | undefined,
): Promise<ModelPart> {
  const { data: own = inline.get(image.sha256), ...reference } = image;
  const carried = own === undefined ? undefined : Buffer.from(own, 'base64');
  if (carried !== undefined && isMeant(carried, image)) return { ...reference, data: carried.toString('base64') };
  if (loadImage === undefined) return missingImagePart(image, 'its bytes are not available');
  try {
    const { bytes } = await loadImage(reference);
    if (isMeant(bytes, image)) return { ...reference, data: Buffer.from(bytes).toString('base64') };
    return missingImagePart(image, bytes.length > MAX_IMAGE_BYTES ? 'it has more than 5 MB' : 'it has changed');
  } catch (error) {
    return missingImagePart(image, error instanceof ToolCallError ? error.message : 'it could not be loaded');
  }
}

function isMeant(bytes: Uint8Array, { sha256 }: ImagePart): boolean {
  return bytes.length <= MAX_IMAGE_BYTES && createHash('sha256').update(bytes).digest('hex') === sha256;
}

function missingImagePart(image: ImagePart, why: string): ModelPart {
  const reason = oneLine(why, 300);
  return {
    type: 'text',
    text: `[The image ${imageName(image)} is not shown: ${reason}${/[.!?]$/.test(reason) ? '' : '.'}]`,
  };
}

function imageName({ path, sha256 }: ImagePart): string {
  return path === undefined ? `${sha256.slice(0, 12)}…` : oneLine(path, 200);
}

/** The maximum depth of tool data, plus its depth inside an outcome. */
const MAX_DEPTH = MAX_JSON_DEPTH + 5;

type Members = Readonly<Record<string, unknown>>;

/** Calls `take` for every object that claims to be an image. The depth limit also ends cycles. */
function forEachPart(value: unknown, take: (part: Members) => void, depth = 0): void {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return;
  if (!Array.isArray(value) && (value as Members)['type'] === 'image') take(value as Members);
  for (const member of Object.values(value)) forEachPart(member, take, depth + 1);
}

/** Reads a reference; undefined if the members are not an image, or if the base64 is larger than the maximum. */
function readReference({ mediaType, sha256, path, data }: Members): ImagePart | undefined {
  if (typeof path !== 'string' && typeof data !== 'string') return undefined;
  if (typeof data === 'string' && data.length > Math.ceil(MAX_IMAGE_BYTES / 3) * 4) return undefined;
  const part = { type: 'image', media_type: mediaType, ...(typeof path === 'string' ? { path } : {}), sha256 };
  const parsed = ImagePartSchema.safeParse(part);
  return parsed.success ? parsed.data : undefined;
}

function withoutRepeatedImages(text: string, repeated: ReadonlySet<string>): string {
  let shown = text;
  for (const base64 of repeated)
    if (shown.length >= base64.length) shown = shown.replaceAll(base64, () => remark(base64));
  return shown;
}

function remark(base64: string): string {
  return `[${base64.length} characters of base64 left out]`;
}

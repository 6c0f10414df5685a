import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import {
  MAX_FILE_BYTES,
  MAX_FILES,
  MAX_IMAGE_BYTES,
  MAX_IMAGES,
  type FilePart,
  type ImagePart,
  type MessageItem,
} from '@toolscript/core/protocol';
import { visibleLine } from '../terminal/untrusted.js';
import { isUsageError, systemCode, UsageError } from '../usage-error.js';
import { readFileStart } from './file-start.js';

/** The paths of the files that belong to a prompt. */
interface AttachedPaths {
  readonly image?: readonly string[] | undefined;
  readonly file?: readonly string[] | undefined;
}

/** Reads what is attached to a prompt. Throws a UsageError for a file of another kind, or a file that is too large. */
export async function readAttached({
  image = [],
  file = [],
}: AttachedPaths): Promise<Pick<MessageItem, 'images' | 'files'>> {
  refuseMany(image, MAX_IMAGES, 'images');
  refuseMany(file, MAX_FILES, 'files');
  const [images, files] = await Promise.all([Promise.all(image.map(readImage)), Promise.all(file.map(readFile))]);
  return { ...(images.length === 0 ? {} : { images }), ...(files.length === 0 ? {} : { files }) };
}

function refuseMany({ length }: readonly string[], max: number, what: string): void {
  if (length > max) throw new UsageError(`A prompt has at most ${max} ${what}, and these are ${length}. Name fewer.`);
}

async function readImage(path: string): Promise<ImagePart> {
  const bytes = await readBytes(path, { maxBytes: MAX_IMAGE_BYTES, option: '--image' });
  const image = await imagePart(bytes);
  if (image !== undefined) return image;
  throw new UsageError(
    `${visibleLine(path)} is not a complete PNG, JPEG, GIF or WebP image. Convert it to one of these formats.`,
  );
}

/** The image with these bytes. Undefined if they are no complete image of a format that models read. */
export async function imagePart(bytes: Buffer): Promise<ImagePart | undefined> {
  const { imageHeader } = await import('@toolscript/tools');
  const header = imageHeader(bytes);
  if (header === undefined || header.width === 0) return undefined;
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { type: 'image', media_type: header.mediaType, sha256, data: bytes.toString('base64') };
}

async function readFile(path: string): Promise<FilePart> {
  const bytes = await readBytes(path, { maxBytes: MAX_FILE_BYTES, option: '--file' });
  const { readFilePart } = await import('@toolscript/core/history');
  const part = readFilePart(basename(path), bytes);
  if (typeof part === 'string') throw new UsageError(`${visibleLine(path)} ${part}`);
  return part;
}

interface ByteRules {
  readonly maxBytes: number;
  readonly option: string;
}

async function readBytes(path: string, { maxBytes, option }: ByteRules): Promise<Buffer> {
  const name = visibleLine(path);
  try {
    const found = await readFileStart(path, maxBytes);
    if (found === undefined) throw new UsageError(`${name} is not a file. Correct the path after ${option}.`);
    if (found.size > maxBytes)
      throw new UsageError(`${name} is larger than ${maxBytes / 1024 / 1024} MB. Make it smaller.`);
    return found.bytes;
  } catch (error) {
    if (isUsageError(error)) throw error;
    throw new UsageError(
      systemCode(error) === 'ENOENT'
        ? `There is no file ${name}. Check the path after ${option}.`
        : `${name} cannot be read: ${visibleLine((error as Error).message)}. Make the file readable, or name another one.`,
    );
  }
}

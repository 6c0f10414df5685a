import { createHash } from 'node:crypto';
import { MAX_IMAGE_BYTES, type ImagePart } from '@toolscript/core/protocol';

export const MAX_IMAGE_MB = MAX_IMAGE_BYTES / 1024 / 1024;

/** The image with this base64 data. Returns undefined if the image is too large. */
export function imageIn(media_type: ImagePart['media_type'], data: string): ImagePart | undefined {
  const bytes = Buffer.from(data, 'base64');
  if (bytes.length > MAX_IMAGE_BYTES) return undefined;
  return { type: 'image', media_type, sha256: createHash('sha256').update(bytes).digest('hex'), data };
}

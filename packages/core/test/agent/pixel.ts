import { createHash } from 'node:crypto';

/** One pixel, as a PNG. */
export const PIXEL_BYTES = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
  'base64',
);

/** The image as a tool returns it: by its name. */
export const PIXEL_PART = {
  type: 'image',
  mediaType: 'image/png',
  path: 'shots/one.png',
  sha256: createHash('sha256').update(PIXEL_BYTES).digest('hex'),
};

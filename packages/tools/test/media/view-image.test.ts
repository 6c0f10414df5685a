import { createHash } from 'node:crypto';
import { linkSync, symlinkSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { createHarness } from '@toolscript/core';
import { renderOutcomeParts } from '@toolscript/core/history';
import { DEFAULT_LIMITS, type StreamEvent } from '@toolscript/core/protocol';
import { describe, expect, it } from 'vitest';
import { createWorkspace } from '#tools/files/workspace.js';
import { imageHeader } from '#tools/media/image-header.js';
import { loadImage, viewImage, viewImageTool, type ImageReference } from '#tools/media/view-image.js';
import { refusal } from '../support/temporary-folder.js';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { newFolder, put } from '@toolscript/testkit/folder';

/** Complete one-pixel images, and headers that match a test. */
const PIXEL_PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const PIXEL_GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
const PIXEL_WEBP = Buffer.from('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==', 'base64');

function png(width: number, height: number, length = 33): Buffer {
  const bytes = Buffer.alloc(length);
  PIXEL_PNG.copy(bytes, 0, 0, Math.min(33, length));
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
}

/** A JFIF header, a long comment, fill bytes and a table before the frame, as cameras write them. */
function jpeg(width: number, height: number, frame = 0xc2): Buffer {
  const segment = (marker: number, body: Buffer): Buffer => {
    const head = Buffer.from([0xff, marker, 0, 0]);
    head.writeUInt16BE(body.length + 2, 2);
    return Buffer.concat([head, body]);
  };
  const size = Buffer.from([8, 0, 0, 0, 0, 3]);
  size.writeUInt16BE(height, 1);
  size.writeUInt16BE(width, 3);
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xe0, Buffer.from('JFIF\0')),
    segment(0xfe, Buffer.alloc(40_000, 0xff)),
    Buffer.from([0xff, 0xff]),
    segment(0xc4, Buffer.alloc(20)),
    segment(frame, Buffer.concat([size, Buffer.alloc(9)])),
    Buffer.from([0xff, 0xd9]),
  ]);
}

function webp(kind: string, body: Buffer): Buffer {
  const bytes = Buffer.alloc(20 + body.length);
  bytes.write('RIFF', 0);
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write(`WEBP${kind}`, 8);
  bytes.writeUInt32LE(body.length, 16);
  body.copy(bytes, 20);
  return bytes;
}

const EXTENDED = webp('VP8X', Buffer.from([0, 0, 0, 0, 0x8f, 0x01, 0, 0x2b, 0x01, 0]));
const LOSSY = webp('VP8 ', Buffer.from([0, 0, 0, 0x9d, 0x01, 0x2a, 0x40, 0x01, 0xf0, 0x00]));

describe('the header determines type and size, whatever the name', () => {
  it.each<[string, Buffer, string, number, number]>([
    ['PNG', PIXEL_PNG, 'image/png', 1, 1],
    ['a wide PNG', png(8000, 3), 'image/png', 8000, 3],
    ['progressive JPEG after other segments', jpeg(640, 480), 'image/jpeg', 640, 480],
    ['baseline JPEG', jpeg(1, 65_535, 0xc0), 'image/jpeg', 1, 65_535],
    ['GIF', PIXEL_GIF, 'image/gif', 1, 1],
    ['lossless WebP', PIXEL_WEBP, 'image/webp', 1, 1],
    ['lossy WebP', LOSSY, 'image/webp', 320, 240],
    ['extended WebP', EXTENDED, 'image/webp', 400, 300],
  ])('%s', (_, bytes, mediaType, width, height) => {
    expect(imageHeader(bytes)).toEqual({ mediaType, width, height });
  });

  it('every truncation and every changed byte gives a result and no error', () => {
    for (const image of [PIXEL_PNG, jpeg(640, 480).subarray(0, 40_200), PIXEL_GIF, PIXEL_WEBP, LOSSY, EXTENDED]) {
      for (let length = 0; length < Math.min(image.length, 200); length += 1) imageHeader(image.subarray(0, length));
      for (let at = 0; at < Math.min(image.length, 200); at += 1) {
        const changed = Buffer.from(image);
        changed[at] = 0xff;
        imageHeader(changed);
      }
    }
  });
});

describe('viewImage', () => {
  const folder = newFolder({
    'a/pixel.txt': PIXEL_PNG,
    'photo.jpg': jpeg(640, 480),
    'text.png': 'not an image at all',
    'vector.png': '<svg xmlns="http://www.w3.org/2000/svg"/>',
    'empty.png': '',
    'cut.png': PIXEL_PNG.subarray(0, 20),
    'cut.jpg': jpeg(640, 480).subarray(0, 1000),
    'none.png': png(0, 5),
    'wide.png': png(8001, 10),
    'bomb.png': png(0xffff_ffff, 0xffff_ffff),
    'large.png': png(10, 10, 5 * 1024 * 1024),
    'sparse.png': png(10, 10),
    'most.png': png(10, 10, 750_000),
  });
  truncateSync(join(folder, 'sparse.png'), 5 * 1024 * 1024 + 1);
  symlinkSync('/dev/zero', join(folder, 'device.png'));
  linkSync(join(folder, 'photo.jpg'), join(folder, 'second-name.jpg'));
  const workspace = createWorkspace({ roots: folder });

  it('refers to the image by a small part with the hash of its bytes', async () => {
    const sha256 = createHash('sha256').update(PIXEL_PNG).digest('hex');
    expect(await viewImage(workspace, { path: 'pixel.txt', cwd: 'a' })).toEqual({
      success: true,
      path: 'a/pixel.txt',
      mediaType: 'image/png',
      width: 1,
      height: 1,
      bytes: PIXEL_PNG.length,
      content: `a/pixel.txt: image/png, 1 × 1 pixels, ${PIXEL_PNG.length} bytes`,
      image: { type: 'image', mediaType: 'image/png', path: 'a/pixel.txt', sha256 },
    });
    expect(await viewImage(workspace, { path: 'large.png' })).toMatchObject({ bytes: 5 * 1024 * 1024 });
  });

  it('returns base64 on request, never more than the maximum tool result', async () => {
    const { image } = await viewImage(workspace, { path: 'a/pixel.txt', inline: true });
    expect(Buffer.from(image.data!, 'base64')).toEqual(PIXEL_PNG);
    const most = await viewImage(workspace, { path: 'most.png', inline: true });
    expect(JSON.stringify(most).length).toBeLessThan(DEFAULT_LIMITS.maxToolResultBytes);
    const error = await refusal(() => viewImage(workspace, { path: 'large.png', inline: true }));
    expect(error.message).toBe(
      "The image 'large.png' has 5242880 bytes; with inline: true at most 750000 can be returned. Omit inline.",
    );
  });

  it.each([
    [
      'text.png',
      'not_an_image',
      "'text.png' is not a PNG, JPEG, GIF or WebP image. Convert it to one of these formats.",
    ],
    [
      'vector.png',
      'not_an_image',
      "'vector.png' is not a PNG, JPEG, GIF or WebP image. Convert it to one of these formats.",
    ],
    [
      'empty.png',
      'not_an_image',
      "'empty.png' is not a PNG, JPEG, GIF or WebP image. Convert it to one of these formats.",
    ],
    [
      'cut.png',
      'not_an_image',
      "'cut.png' starts like image/png but is damaged or truncated. Replace it with a complete image.",
    ],
    [
      'cut.jpg',
      'not_an_image',
      "'cut.jpg' starts like image/jpeg but is damaged or truncated. Replace it with a complete image.",
    ],
    [
      'none.png',
      'not_an_image',
      "'none.png' starts like image/png but is damaged or truncated. Replace it with a complete image.",
    ],
    [
      'wide.png',
      'too_large',
      "The image 'wide.png' is 8001 × 10 pixels; at most 8000 a side can be viewed. Scale it down.",
    ],
    [
      'bomb.png',
      'too_large',
      "The image 'bomb.png' is 4294967295 × 4294967295 pixels; at most 8000 a side can be viewed. Scale it down.",
    ],
    [
      'sparse.png',
      'too_large',
      "The image 'sparse.png' has 5242881 bytes; at most 5 MB can be viewed. Make it smaller.",
    ],
    [
      'device.png',
      'link_outside',
      "The path 'device.png' leads outside the workspace through a link. Use a path inside the workspace.",
    ],
    [
      'second-name.jpg',
      'hard_link',
      "'second-name.jpg' has a second name (a hard link), so it may be a file from outside the workspace. Replace it with a copy.",
    ],
    ['a', 'not_a_file', "'a' is a folder, not a regular file. Use the path of a file."],
    ['none', 'missing', "'none' does not exist. Check the path."],
    ['../x.png', 'outside', "The path '../x.png' is outside the workspace. Use a path inside it."],
  ])('refuses %s', async (path, reason, message) => {
    const error = await refusal(() => viewImage(workspace, { path }));
    expect(error.data['reason']).toBe(reason);
    expect(error.message).toBe(message);
  });

  it('lets a host load the exact bytes that were viewed, or report that they changed', async () => {
    put(folder, 'shot.png', PIXEL_PNG);
    const { image } = await viewImage(workspace, { path: 'shot.png' });
    expect(await loadImage(workspace, image)).toEqual({ mediaType: 'image/png', bytes: PIXEL_PNG });
    put(folder, 'shot.png', PIXEL_GIF);
    expect((await refusal(() => loadImage(workspace, image))).data['reason']).toBe('changed');
    expect((await refusal(() => loadImage(workspace, { ...image, path: '../shot.png' }))).data['reason']).toBe(
      'outside',
    );
  });

  it('passes an image to the model, named in the item and loaded by the host', async () => {
    put(folder, 'shot.png', PIXEL_PNG);
    const events: StreamEvent[] = [];
    const harness = createHarness({
      ...sharedThreads(),
      tools: [viewImageTool(workspace)],
      onEvent: (event) => void events.push(event),
    });
    const outcome = await harness.runScript(
      "await tools.viewImage({ path: 'shot.png' }); return (await tools.viewImage({ path: 'a/pixel.txt', inline: true })).image;",
    );
    await harness.close();
    const item = events
      .map(({ payload }) => (payload.type === 'item_done' ? payload.final_item : undefined))
      .find((one) => one?.type === 'script_execution_output');
    const sha256 = createHash('sha256').update(PIXEL_PNG).digest('hex');
    // The same bytes twice are one image.
    expect(item).toMatchObject({ images: [{ type: 'image', media_type: 'image/png', path: 'a/pixel.txt', sha256 }] });
    const host = { tokenBudget: 1000, loadImage: (image: ImageReference) => loadImage(workspace, image) };
    const parts = await renderOutcomeParts(outcome, host);
    expect(parts).toMatchObject([{ type: 'text' }, { data: PIXEL_PNG.toString('base64') }]);
    expect(JSON.stringify(parts[0])).not.toContain(PIXEL_PNG.toString('base64').slice(0, 30));
    // If the part has no data, the host's file is read.
    const [, loaded] = await renderOutcomeParts(
      { ...outcome, value: null, operations: outcome.operations.slice(0, 1) } as never,
      host,
    );
    expect(loaded).toMatchObject({ path: 'shot.png', data: PIXEL_PNG.toString('base64') });
    expect((await refusal(() => loadImage(workspace, { sha256 }))).data['reason']).toBe('missing');
  });
});

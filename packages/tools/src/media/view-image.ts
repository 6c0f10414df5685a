import { defineTool } from '@toolscript/core';
import type { Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { failure } from '../failure.js';
import { sha256InTurns } from '../files/content-hash.js';
import { openFile, using } from '../files/open-verified.js';
import { quotePath, visible } from '../files/path-rules.js';
import { permissionPath } from '../files/permission-path.js';
import { readAll } from '../files/text.js';
import { displayPath, resolvePath, type Workspace, type WorkspacePath } from '../files/workspace.js';
import { imageHeader, type ImageHeader } from './image-header.js';
import { SUCCESS } from '../success.js';

/*
 * A result refers to an image by a part `{ type: 'image', mediaType, path, sha256 }`: small enough for every limit, and
 * sufficient for the host to load the same bytes (`loadImage`) when it builds the conversation. Base64 data would use
 * up maxReturnBytes if a script returned the data, and is useless to a model as text, so the data is included only on
 * request.
 */

const MAX_IMAGE_BYTES = 5 * 1024 * 1024;
/** Maximum pixels of either side. */
const MAX_SIDE = 8000;
/**
 * Maximum size of an image in bytes whose base64 form, with the rest of the result, fits in the default
 * maxToolResultBytes (1 MiB).
 */
const MAX_INLINE_BYTES = 750_000;

const MEDIA_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;

const ViewImageInput = z.object({
  path: z.string(),
  cwd: z.string().optional(),
  inline: z
    .boolean()
    .default(false)
    .describe(`also return image.data in base64, for an image of up to ${MAX_INLINE_BYTES} bytes`),
});

const ImagePart = z.object({
  type: z.literal('image').meta({ deprecated: true }),
  mediaType: z.enum(MEDIA_TYPES).meta({ deprecated: true }),
  path: z.string().meta({ deprecated: true }),
  sha256: z.string().meta({ deprecated: true }),
  data: z.string().optional(),
});

const ViewImageOutput = z.object({
  success: SUCCESS,
  path: z.string(),
  mediaType: z.enum(MEDIA_TYPES).meta({ deprecated: true }),
  width: z.number().int(),
  height: z.number().int(),
  bytes: z.number().int().meta({ deprecated: true }),
  content: z.string().describe('a description of the image').meta({ deprecated: true }),
  image: ImagePart,
});

export type ViewImageInput = z.input<typeof ViewImageInput>;
export type ViewImageResult = z.output<typeof ViewImageOutput>;
/** The members of a result's image part that identify an image of a workspace. */
export interface ImageReference {
  readonly path?: string | undefined;
  readonly sha256: string;
}

export function viewImageTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'viewImage',
    description: 'Hands an image file to the conversation: up to 5 MB and 8000 pixels a side.',
    input: ViewImageInput,
    aliases: { workdir: 'cwd' },
    output: ViewImageOutput,
    approval: 'never',
    effect: 'read',
    permissions: (input) => [`read:${permissionPath(workspace, input.path, input.cwd)}`],
    execute: (input, { signal }) => viewImage(workspace, input, signal),
  });
}

/** Reads an image file; its content, not its name, determines the type. Throws a ToolCallError for other files. */
export async function viewImage(
  workspace: Workspace,
  input: ViewImageInput,
  signal?: AbortSignal,
): Promise<ViewImageResult> {
  const path = resolvePath(workspace, input.path, input.cwd);
  const { bytes, realPath } = await readImage(workspace, path, signal);
  const { mediaType, width, height } = checkedHeader(bytes, path);
  const shown = displayPath(workspace, realPath);
  const data = inlineData(bytes, path, input.inline);
  return {
    success: true,
    path: shown,
    mediaType,
    width,
    height,
    bytes: bytes.length,
    content: `${visible(shown)}: ${mediaType}, ${width} × ${height} pixels, ${bytes.length} bytes`,
    image: { type: 'image', mediaType, path: shown, sha256: await sha256InTurns(bytes), ...data },
  };
}

/**
 * The bytes of an image that a result refers to, for a host that builds a conversation. Throws a ToolCallError if the
 * file is missing or has changed.
 */
export async function loadImage(
  workspace: Workspace,
  image: ImageReference,
): Promise<{ mediaType: ImageHeader['mediaType']; bytes: Uint8Array }> {
  if (image.path === undefined)
    throw failure('missing', 'The image reference has no path. Pass the image of a viewImage result.');
  const path = resolvePath(workspace, image.path);
  const { bytes } = await readImage(workspace, path);
  if ((await sha256InTurns(bytes)) !== image.sha256)
    throw failure('changed', `The image ${quotePath(path.given)} has changed since it was viewed. View it again.`, {
      path: path.given,
    });
  return { mediaType: checkedHeader(bytes, path).mediaType, bytes };
}

function readImage(
  workspace: Workspace,
  path: WorkspacePath,
  signal?: AbortSignal,
): Promise<{ bytes: Buffer; realPath: string }> {
  return using(openFile(workspace, path), async ({ handle, stat, realPath }) => {
    checkSize(stat.size, path);
    const bytes = await readAll(handle, stat.size, path, signal);
    // The file may have grown since the check of its size.
    checkSize(bytes.length, path);
    return { bytes, realPath };
  });
}

function checkSize(bytes: number, path: WorkspacePath): void {
  if (bytes <= MAX_IMAGE_BYTES) return;
  throw failure(
    'too_large',
    `The image ${quotePath(path.given)} has ${bytes} bytes; at most 5 MB can be viewed. Make it smaller.`,
    {
      path: path.given,
      bytes,
    },
  );
}

function checkedHeader(bytes: Buffer, path: WorkspacePath): ImageHeader {
  const header = imageHeader(bytes);
  const data = { path: path.given };
  if (!header)
    throw failure(
      'not_an_image',
      `${quotePath(path.given)} is not a PNG, JPEG, GIF or WebP image. Convert it to one of these formats.`,
      data,
    );
  const { mediaType, width, height } = header;
  if (width === 0 || height === 0)
    throw failure(
      'not_an_image',
      `${quotePath(path.given)} starts like ${mediaType} but is damaged or truncated. Replace it with a complete image.`,
      data,
    );
  if (width > MAX_SIDE || height > MAX_SIDE)
    throw failure(
      'too_large',
      `The image ${quotePath(path.given)} is ${width} × ${height} pixels; at most ${MAX_SIDE} a side can be viewed. Scale it down.`,
      { ...data, width, height },
    );
  return header;
}

function inlineData(bytes: Buffer, path: WorkspacePath, wanted: boolean | undefined): { data?: string | undefined } {
  if (!wanted) return {};
  if (bytes.length > MAX_INLINE_BYTES)
    throw failure(
      'too_large',
      `The image ${quotePath(path.given)} has ${bytes.length} bytes; with inline: true at most ${MAX_INLINE_BYTES} can be returned. Omit inline.`,
      { path: path.given, bytes: bytes.length },
    );
  return { data: bytes.toString('base64') };
}

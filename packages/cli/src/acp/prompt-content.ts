import { RequestError, type ContentBlock } from '@agentclientprotocol/sdk';
import { MAX_IMAGE_BYTES, MAX_IMAGES, type ImagePart } from '@toolscript/core/protocol';
import { imagePart } from '../input/attached-input.js';

export interface PromptContent {
  readonly text: string;
  readonly images: readonly ImagePart[];
}

/** The text and the images of an editor's prompt. Throws a RequestError for content that a model cannot get. */
export async function promptContent(blocks: readonly ContentBlock[]): Promise<PromptContent> {
  const texts: string[] = [];
  const images: ImagePart[] = [];
  for (const block of blocks) {
    if (block.type === 'image') images.push(await readImage(block.data));
    else texts.push(blockText(block));
  }
  if (images.length > MAX_IMAGES)
    throw RequestError.invalidParams(undefined, `A prompt has at most ${MAX_IMAGES} images. Remove some.`);
  return { text: texts.join(''), images };
}

function blockText(block: Exclude<ContentBlock, { type: 'image' }>): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'resource_link':
      return `[${block.name}](${block.uri})`;
    case 'resource':
      if ('text' in block.resource) return `\n<file uri="${block.resource.uri}">\n${block.resource.text}\n</file>\n`;
      return `[${block.resource.uri}]`;
    default:
      throw RequestError.invalidParams(undefined, 'This agent takes no sound. Send text.');
  }
}

async function readImage(data: string): Promise<ImagePart> {
  const bytes = Buffer.from(data, 'base64');
  const image = bytes.length > MAX_IMAGE_BYTES ? undefined : await imagePart(bytes);
  if (image !== undefined) return image;
  throw RequestError.invalidParams(
    undefined,
    `An image must be a complete PNG, JPEG, GIF or WebP image of at most ${MAX_IMAGE_BYTES / 1024 / 1024} MB.`,
  );
}

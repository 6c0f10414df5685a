import { basename, resolve } from 'node:path';
import type { FilePart, ImagePart, MessageItem } from '@toolscript/core/protocol';
import { isInside } from '../configuration/workspace-folder.js';
import { imagePart } from '../input/attached-input.js';
import { readFileStart } from '../input/file-start.js';

/** `@` before a path, at the start of a word. */
const MENTION = /(?<=^|\s)@([^\s@]+)/gu;

/** The maximum size of a mentioned image or PDF, and of a mentioned text, in bytes. */
const MAX_BYTES = 5 * 1024 * 1024;
const MAX_TEXT_BYTES = 64 * 1024;

export interface MentionedFiles {
  /** The prompt, followed by the texts of the mentioned files. */
  readonly text: string;
  readonly attached: Pick<MessageItem, 'images' | 'files'>;
}

/** Adds the files of the workspace that a prompt mentions as `@path`. Other mentions stay as they are. */
export async function withMentions(prompt: string, workspace: string): Promise<MentionedFiles> {
  const texts: string[] = [];
  const images: ImagePart[] = [];
  const files: FilePart[] = [];
  for (const path of new Set([...prompt.matchAll(MENTION)].map(([, named]) => named!))) {
    const file = resolve(workspace, path);
    if (!isInside(workspace, file)) continue;
    const found = await readFileStart(file, MAX_BYTES).catch(() => undefined);
    if (found === undefined) continue;
    const isSmall = found.size <= MAX_BYTES;
    const image = isSmall ? await imagePart(found.bytes) : undefined;
    const part = isSmall && image === undefined ? await filePart(path, found.bytes) : undefined;
    if (image !== undefined) images.push(image);
    else if (part !== undefined) files.push(part);
    else if (found.size <= MAX_TEXT_BYTES && !found.bytes.includes(0))
      texts.push(`<file path="${path}">\n${found.bytes.toString('utf8')}\n</file>`);
  }
  return {
    text: [prompt, ...texts].join('\n\n'),
    attached: { ...(images.length > 0 && { images }), ...(files.length > 0 && { files }) },
  };
}

async function filePart(path: string, bytes: Buffer): Promise<FilePart | undefined> {
  const { readFilePart } = await import('@toolscript/core/history');
  const part = readFilePart(basename(path), bytes);
  return typeof part === 'string' ? undefined : part;
}

import { MAX_FILE_BYTES, MAX_FILES } from '@toolscript/core/stream';
import { useRef } from 'react';
import { IconButton } from '../parts/icon-button.tsx';
import { Icon } from '../parts/icons.tsx';
import type { AttachedFile } from '../view/attached-files.ts';
import { IMAGE_TYPES } from '../view/table.ts';

export interface AttachedImage {
  readonly name: string;
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
  /** The bytes of the image, in Base64. */
  readonly data: string;
}

/** A file that some models read, besides images and text. */
export interface AttachedDocument {
  readonly name: string;
  readonly mediaType: 'application/pdf' | 'audio/wav' | 'audio/mpeg';
  /** The bytes of the file, in Base64. */
  readonly data: string;
}

/** An image, a PDF, a recording, or a text file whose text becomes a part of the prompt. */
export type Attachment = AttachedImage | AttachedDocument | AttachedFile;

const MAX_ATTACHMENTS = 8;

/** Maximum bytes of a text file. */
const MAX_TEXT = 200_000;

/** The types of documents, as browsers name them. */
const DOCUMENT_TYPES = new Map<string, AttachedDocument['mediaType']>([
  ['application/pdf', 'application/pdf'],
  ['audio/wav', 'audio/wav'],
  ['audio/wave', 'audio/wav'],
  ['audio/x-wav', 'audio/wav'],
  ['audio/mpeg', 'audio/mpeg'],
  ['audio/mp3', 'audio/mpeg'],
]);

export function isImage(attachment: Attachment): attachment is AttachedImage {
  return 'data' in attachment && IMAGE_TYPES.includes(attachment.mediaType);
}

export function isDocument(attachment: Attachment): attachment is AttachedDocument {
  return 'data' in attachment && !isImage(attachment);
}

export function isTextFile(attachment: Attachment): attachment is AttachedFile {
  return 'text' in attachment;
}

/** Adds files to the attachments. `problems`: sentences about files that cannot be attached. */
export async function attachFiles(
  before: readonly Attachment[],
  files: Iterable<File>,
): Promise<{ readonly attachments: readonly Attachment[]; readonly problems: readonly string[] }> {
  const read = await Promise.all([...files].map(readFile));
  const all = [...before, ...read.filter((one) => typeof one !== 'string')];
  const extra: readonly Attachment[] = all.filter(isDocument).slice(MAX_FILES);
  const attachments = all.filter((one) => !extra.includes(one));
  const problems = read.filter((one) => typeof one === 'string');
  if (extra.length > 0)
    problems.push(
      `A prompt has at most ${MAX_FILES} PDFs and recordings, so the last ones were left out. Attach them to another prompt.`,
    );
  if (attachments.length > MAX_ATTACHMENTS)
    problems.push(
      `A prompt has at most ${MAX_ATTACHMENTS} files, so the last ones were left out. Attach them to another prompt.`,
    );
  return { attachments: attachments.slice(0, MAX_ATTACHMENTS), problems };
}

async function readFile(file: File): Promise<Attachment | string> {
  const { name, type, size } = file;
  try {
    if (IMAGE_TYPES.includes(type))
      return { name, mediaType: type as AttachedImage['mediaType'], data: base64(await file.arrayBuffer()) };
    const document = DOCUMENT_TYPES.get(type);
    if (document !== undefined)
      return size > MAX_FILE_BYTES
        ? `${name} is larger than ${MAX_FILE_BYTES / 1024 / 1024} MB. Attach a part of it.`
        : { name, mediaType: document, data: base64(await file.arrayBuffer()) };
    if (size > MAX_TEXT) return `${name} is larger than ${MAX_TEXT / 1000} KB. Attach a part of it.`;
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
    return text.includes('\0') ? notReadable(name) : { name, text };
  } catch (error) {
    return error instanceof TypeError
      ? notReadable(name)
      : `${name} cannot be read. Check its permissions, and attach it again.`;
  }
}

function notReadable(name: string): string {
  return `${name} is no text, image (PNG, JPEG, GIF, WebP), PDF or recording (WAV, MP3), so models cannot read it. Convert it first.`;
}

function base64(buffer: ArrayBuffer): string {
  const bytes = new Uint8Array(buffer);
  let binary = '';
  for (let start = 0; start < bytes.length; start += 32_768)
    binary += String.fromCharCode(...bytes.subarray(start, start + 32_768));
  return btoa(binary);
}

export function AttachButton({ onFiles }: { readonly onFiles: (files: readonly File[]) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton
        icon="attach"
        label="Attach images, PDFs, recordings and text files"
        onClick={() => input.current?.click()}
      />
      <input
        ref={input}
        type="file"
        hidden
        multiple
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])]);
          event.target.value = '';
        }}
      />
    </>
  );
}

interface AttachmentListProps {
  readonly attachments: readonly Attachment[];
  readonly onRemove: (index: number) => void;
}

export function AttachmentList({ attachments, onRemove }: AttachmentListProps) {
  if (attachments.length === 0) return null;
  return (
    <ul className="attachments" aria-label="Attached files">
      {attachments.map((attachment, index) => (
        <li key={index}>
          {isImage(attachment) ? (
            <img src={`data:${attachment.mediaType};base64,${attachment.data}`} alt={attachment.name} />
          ) : (
            <span className="attached-text">
              <Icon name="attach" /> {attachment.name}
            </span>
          )}
          <IconButton icon="close" label={`Remove ${attachment.name}`} onClick={() => onRemove(index)} />
        </li>
      ))}
    </ul>
  );
}

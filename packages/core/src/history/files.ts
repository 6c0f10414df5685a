import { createHash } from 'node:crypto';
import { MAX_FILE_BYTES } from '../protocol/attached-file.js';
import type { FilePart } from '../protocol/index.js';

/** The largest place of a PDF's header that readers accept: other bytes may precede it. */
const HEADER_END = 1024;

/**
 * The file as a part of a message, by its bytes: a PDF, or a WAV or MP3 recording. A text is the reason why it cannot
 * be one.
 */
export function readFilePart(name: string, bytes: Uint8Array): FilePart | string {
  if (bytes.length > MAX_FILE_BYTES) return `is larger than ${MAX_FILE_BYTES / 1024 / 1024} MB. Send a part of it.`;
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const media_type = mediaType(content);
  if (media_type === undefined) return 'is no PDF, and no WAV or MP3 recording. Convert it to one of these formats.';
  const sha256 = createHash('sha256').update(content).digest('hex');
  return { type: 'file', media_type, name, sha256, data: content.toString('base64') };
}

function mediaType(content: Buffer): FilePart['media_type'] | undefined {
  const starts = content.toString('latin1', 0, HEADER_END);
  if (starts.includes('%PDF-')) return 'application/pdf';
  if (starts.startsWith('RIFF') && starts.startsWith('WAVE', 8)) return 'audio/wav';
  return starts.startsWith('ID3') || isFrameOfMp3(content) ? 'audio/mpeg' : undefined;
}

/** The header of a frame: eleven bits that are set, a version, and layer III. */
function isFrameOfMp3([first, second = 0]: Buffer): boolean {
  const version = (second >> 3) & 3;
  return first === 0xff && second >= 0xe0 && version !== 1 && ((second >> 1) & 3) === 1;
}

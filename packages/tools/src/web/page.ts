import { failure } from '../failure.js';
import { visible } from '../files/path-rules.js';

/** A page as it was received. */
export interface ReceivedPage {
  readonly url: URL;
  readonly contentType: string | undefined;
  readonly bytes: Buffer;
}

export type PageKind = 'html' | 'json' | 'text';

/** The kind of a page and its text. Throws a ToolCallError if the page is not text. */
export function readPageText({ url, contentType, bytes }: ReceivedPage): { kind: PageKind; text: string } {
  const { type, charset } = readContentType(contentType);
  const kind = type === '' ? guessKind(bytes) : KINDS.find(([pattern]) => pattern.test(type))?.[1];
  // defence: binary-pages-are-refused
  if (kind === undefined || (!hasWideUnits(bytes, charset) && bytes.subarray(0, 1024).includes(0)))
    throw failure(
      'binary',
      `${visible(url.host)} sent ${type === '' ? 'data of an unknown type' : visible(type)}, which is not text. Read a page of HTML, plain text, JSON or XML.`,
      { contentType: type },
    );
  return { kind, text: decode(bytes, charset ?? (kind === 'html' ? metaCharset(bytes) : undefined), url) };
}

const KINDS: readonly (readonly [RegExp, PageKind])[] = [
  [/^(?:text\/html|application\/xhtml\+xml)$/u, 'html'],
  [/^(?:application|text)\/(?:json|[\w.-]+\+json|x-ndjson)$/u, 'json'],
  [/^(?:text\/[\w.+-]+|application\/(?:xml|[\w.-]+\+xml|javascript|yaml|x-yaml|toml|sql|x-sh))$/u, 'text'],
];

function readContentType(header = ''): { type: string; charset: string | undefined } {
  const [type = '', ...parameters] = header.slice(0, 500).split(';');
  const charset = parameters.map((one) => /^\s*charset\s*=\s*"?([^\s";]+)/iu.exec(one)?.[1]).find(Boolean);
  return { type: type.trim().toLowerCase(), charset };
}

function guessKind(bytes: Buffer): PageKind | undefined {
  const start = bytes.subarray(0, 1024).toString('latin1');
  if (start.includes('\0')) return undefined;
  return /^[\s\u00bb\u00bf\u00ef]*<(?:!doctype html|html|head|body)[\s>]/iu.test(start) ? 'html' : 'text';
}

/** Whether the text is UTF-16, in which zero bytes are part of the text. */
function hasWideUnits(bytes: Buffer, charset: string | undefined): boolean {
  const mark = bytes.length < 2 ? 0 : bytes.readUInt16BE(0);
  return mark === 0xfeff || mark === 0xfffe || /^utf-?16/iu.test(charset ?? '');
}

/** The character set that a page states within its first 1024 bytes. */
function metaCharset(bytes: Buffer): string | undefined {
  const start = bytes.subarray(0, 1024).toString('latin1');
  return /<meta[^>]{0,200}?charset\s*=\s*["']?([^\s"'/>;]{1,40})/iu.exec(start)?.[1];
}

function decode(bytes: Buffer, charset: string | undefined, url: URL): string {
  return decoderFor(byteOrderMark(bytes) ?? charset ?? 'utf-8', url).decode(bytes);
}

function byteOrderMark(bytes: Buffer): string | undefined {
  if (bytes.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf]))) return 'utf-8';
  if (bytes.subarray(0, 2).equals(Buffer.from([0xff, 0xfe]))) return 'utf-16le';
  return bytes.subarray(0, 2).equals(Buffer.from([0xfe, 0xff])) ? 'utf-16be' : undefined;
}

function decoderFor(charset: string, url: URL): { decode: (bytes: Buffer) => string } {
  try {
    return new TextDecoder(charset);
  } catch {
    throw failure(
      'unreadable',
      `${visible(url.host)} sent text in the character set "${visible(charset.slice(0, 40))}", which is unknown. Read another page.`,
    );
  }
}

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { failure } from '../failure.js';
import { visible } from '../files/path-rules.js';
import type { WebLimits } from './limits.js';
import { failedRequest } from './request-failure.js';

/** The codings that a request offers. `readBody` also decodes `deflate`, which some servers send anyway. */
export const ACCEPTED_CODINGS = 'gzip, br';

/** The whole body, decompressed. Throws a ToolCallError if the body exceeds the limits. Always ends the connection. */
export async function readBody(
  response: IncomingMessage,
  url: URL,
  limits: WebLimits,
  signal: AbortSignal,
): Promise<Buffer> {
  try {
    const stated = Number(response.headers['content-length'] ?? 0);
    if (stated > limits.maxTransferBytes) throw tooLarge(url, limits.maxTransferBytes);
    return await decompressedBody(response, url, limits, signal);
  } catch (error) {
    throw failedRequest(error, url, limits);
  } finally {
    response.destroy();
  }
}

async function decompressedBody(
  response: IncomingMessage,
  url: URL,
  { maxTransferBytes, maxBytes }: WebLimits,
  signal: AbortSignal,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const collect = async (source: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of source) chunks.push(chunk);
  };
  // defence: transfer-is-bounded
  const transfer = atMost(maxTransferBytes, () => tooLarge(url, maxTransferBytes));
  // defence: decompression-is-bounded
  const size = atMost(maxBytes, () => tooLarge(url, maxBytes, ' after decompression'));
  const decoder = contentDecoder(response, url);
  if (decoder === undefined) await pipeline(response, transfer, size, collect, { signal });
  else await pipeline(response, transfer, decoder, size, collect, { signal });
  return Buffer.concat(chunks);
}

type Pass = (source: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;

function atMost(max: number, refuse: () => Error): Pass {
  return async function* (source) {
    let bytes = 0;
    for await (const chunk of source) {
      bytes += chunk.length;
      if (bytes > max) throw refuse();
      yield chunk;
    }
  };
}

function contentDecoder({ headers }: IncomingMessage, url: URL): Duplex | undefined {
  const coding = (headers['content-encoding'] ?? '').trim().toLowerCase();
  switch (coding) {
    case '':
    case 'identity':
      return undefined;
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      throw failure(
        'unreadable',
        `${visible(url.host)} sent a page with the unknown content encoding "${visible(coding)}". Read another page.`,
      );
  }
}

function tooLarge(url: URL, max: number, when = ''): Error {
  return failure(
    'too_large',
    `The page of ${visible(url.host)} is larger than ${max} bytes${when}. Read a smaller page.`,
  );
}

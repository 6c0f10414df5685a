import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { problemDocument } from './problems.js';

/** Responds to data that is not HTTP, and to incomplete requests. Closes the connection. */
export function answerBrokenRequest({ code }: NodeJS.ErrnoException, socket: Socket): void {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, detail] = BROKEN[code ?? ''] ?? [
    400,
    'This is not an HTTP/1.1 request. Check the address, and that the client uses HTTP/1.1 without TLS.',
  ];
  const body = JSON.stringify(problemDocument(status, detail));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

const BROKEN: Readonly<Record<string, readonly [number, string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time. Send it again.'],
  HPE_HEADER_OVERFLOW: [
    431,
    'The headers are larger than 16 KB, the maximum of this server. Send fewer or shorter ones.',
  ],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [
    413,
    'The extensions of a chunk are larger than this server accepts. Send chunks without extensions.',
  ],
};

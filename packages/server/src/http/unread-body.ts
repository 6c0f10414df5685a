import type { IncomingHttpHeaders } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Maximum bytes of an unread body that the server discards after its answer. */
const MAX_DISCARDED = 64 * 1024;

/** Maximum time for a client to read the answer before the connection closes, in ms. */
const LINGER_MS = 1_000;

/**
 * Closes the connection after an answer that precedes the end of the request's body. Node.js itself would read all of
 * that body. An immediate close could reset the connection before the client has read the answer, so the server first
 * ends its own side.
 */
export function closeUnreadBody({ raw }: FastifyRequest, reply: FastifyReply): void {
  const { socket, headers, complete } = raw;
  const isWhole = complete || !announcesBody(headers);
  // A request from `inject` has no connection. HTTP/2, in an app of the host, ends a request without its connection.
  if (isWhole || !(socket instanceof Socket) || raw.httpVersionMajor > 1) return;
  // defence: unread-bodies-stay-unread
  closeAfterAnswer(socket, reply);
}

/** Whether the headers of a request announce a body. */
export function announcesBody(headers: IncomingHttpHeaders): boolean {
  return Number(headers['content-length'] ?? 0) > 0 || 'transfer-encoding' in headers;
}

function closeAfterAnswer(socket: Socket, reply: FastifyReply): void {
  reply.header('connection', 'close');
  // Node.js calls this function after the last answer on a connection.
  socket.destroySoon = () => {
    socket.end();
    let discarded = 0;
    // Replaces the listener of the HTTP parser.
    socket.removeAllListeners('data').on('data', ({ length }: Buffer) => {
      discarded += length;
      if (discarded > MAX_DISCARDED) socket.pause();
    });
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
  };
}

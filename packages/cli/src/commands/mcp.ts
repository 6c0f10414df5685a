import { once } from 'node:events';
import { EXIT } from '../exit-status.js';
import { openGateway, type GatewayFlags, type OpenGateway } from '../mcp/open-gateway.js';
import { serveGateway, type HttpFlags } from '../mcp/serve-gateway.js';
import { openScreen } from '../terminal/screen.js';

export interface McpFlags extends GatewayFlags, HttpFlags {
  /** `HOST:PORT`, `PORT` or `:PORT`; default: standard input and output. */
  http?: string | undefined;
}

const NOT_A_CLIENT =
  'This is an MCP server, which waits for messages from another program on stdin. Ctrl-C ends it; toolscript mcp --help shows how a program starts it, and how to add servers.';

/**
 * Serves one MCP client over stdin and stdout until the client disconnects, or MCP clients over HTTP. A signal ends
 * both. Without HTTP, stdout carries only the protocol.
 */
export async function serveMcp(flags: McpFlags): Promise<number> {
  const screen = openScreen();
  const warn = screen.notice;
  // The process listens for signals before it opens anything, because a client may send a signal at once.
  const ended = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM'), once(process, 'SIGHUP')]);
  const opened = await openGateway(flags, warn);
  if (flags.http === undefined && process.stdin.isTTY) warn(NOT_A_CLIENT);
  try {
    if (flags.http === undefined) await serveStdio(opened, ended);
    else await serveGateway(opened, { ...flags, http: flags.http }, screen, ended);
  } finally {
    await opened.close();
  }
  return EXIT.completed;
}

async function serveStdio({ gateway }: OpenGateway, ended: Promise<unknown>): Promise<void> {
  const left = Promise.race([once(process.stdin, 'end'), once(process.stdin, 'close'), once(process.stdin, 'error')]);
  const served = gateway.serveStdio();
  await Promise.race([left, ended]);
  await served.close();
}

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { EXIT } from '../exit-status.js';
import { openScreen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import { listenAt } from '../serve/listen.js';
import { isLocalHost, type AccessFlags } from '../serve/server-access.js';
import type { LogFlags } from '../serve/server-log.js';

export interface ServeFlags extends AccessFlags, LogFlags {
  port?: string;
  workspace?: string;
  workers?: string;
}

const DEFAULT_PORT = 4319;
const DEFAULT_HOST = '127.0.0.1';

/** Serves the API until the process is told to end. */
export async function serve(flags: ServeFlags): Promise<number> {
  const screen = openScreen();
  const warn = (message: string) => screen.warn(`toolscript: ${message}`);
  const port = wholeNumber(flags.port, '--port', 65_535) ?? DEFAULT_PORT;
  const workers = wholeNumber(flags.workers, '--workers', 1000);
  const { openService } = await import('../serve/open-service.js');
  const { port: _port, workers: _workers, ...common } = flags;
  const service = await openService({ ...common, ...(workers === undefined ? {} : { workers }) }, warn);
  const ended = endSignal();
  try {
    const address = await listenAt(service.app, flags.host ?? DEFAULT_HOST, port, '--port');
    screen.line(urlOf(address, service.token));
    for (const line of service.about) screen.line(screen.style.dim(line));
    await ended;
  } finally {
    await service.close();
  }
  return EXIT.completed;
}

/** The token is valid only on this machine, so URLs for other machines do not contain it. */
function urlOf({ address, family, port }: AddressInfo, token: string): string {
  const isEverywhere = address === '0.0.0.0' || address === '::';
  if (isEverywhere) return `http://127.0.0.1:${port}/#token=${token}`;
  const url = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/`;
  return isLocalHost(address) ? `${url}#token=${token}` : url;
}

function endSignal(): Promise<unknown> {
  return Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
}

function wholeNumber(text: string | undefined, option: string, most: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/u.test(text) && value <= most) return value;
  throw new UsageError(`${option} is "${visibleLine(text)}". Use a whole number from 0 to ${most}.`);
}

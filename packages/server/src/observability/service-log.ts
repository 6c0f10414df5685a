import type { FastifyServerOptions } from 'fastify';
import { lineRedactor } from './redaction.js';

type Logger = FastifyServerOptions['logger'];

/** By default, faults are logged to stderr, because stdout belongs to the host. */
const DEFAULT_LOGGER: Exclude<Logger, boolean | undefined> = { level: 'warn', stream: process.stderr };

/** The options of pino, which remove secrets from every line before it reaches its destination. */
export function redactedLogger(logger: Logger, secrets: readonly (string | undefined)[]): Logger {
  if (logger === false) return false;
  const options = logger === true ? {} : (logger ?? DEFAULT_LOGGER);
  const redact = lineRedactor(secrets);
  const { streamWrite = (line: string) => line } = options.hooks ?? {};
  return { ...options, hooks: { ...options.hooks, streamWrite: (line) => redact(streamWrite(line)) } };
}

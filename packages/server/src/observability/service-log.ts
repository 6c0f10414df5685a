import type { FastifyServerOptions } from 'fastify';
import { lineRedactor } from './redaction.js';

type Logger = FastifyServerOptions['logger'];

/** The default logger writes faults to stderr, because stdout belongs to the host. */
const DEFAULT_LOGGER: Exclude<Logger, boolean | undefined> = { level: 'warn', stream: process.stderr };

/**
 * The options of pino, with a redactor that removes secrets from every line before the line reaches its destination.
 */
export function redactedLogger(logger: Logger, secrets: readonly (string | undefined)[]): NonNullable<Logger> {
  if (logger === false) return false;
  const options = logger === true ? {} : (logger ?? DEFAULT_LOGGER);
  const redact = lineRedactor(secrets);
  const { streamWrite = (line: string) => line } = options.hooks ?? {};
  return { ...options, hooks: { ...options.hooks, streamWrite: (line) => redact(streamWrite(line)) } };
}

import type { ServerOptions } from '@toolscript/server';
import type { Environment } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';

export interface LogFlags {
  logLevel?: string | undefined;
  logRequests?: boolean | undefined;
}

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

const DEFAULT_LEVEL = 'warn';

/** The minimum length of a secret. Shorter values are settings such as `true`. */
const MIN_LENGTH = 8;

/** The options of the server's log. The server writes one JSON object a line to stderr, without secrets. */
export function serverLog(
  { logLevel = DEFAULT_LEVEL, logRequests = false }: LogFlags,
  environment: Environment,
): Pick<ServerOptions, 'logger' | 'logRequests' | 'secrets'> {
  if (!LEVELS.includes(logLevel))
    throw new UsageError(`--log-level is "${visibleLine(logLevel)}". Use one of ${LEVELS.join(', ')}.`);
  return { logger: { level: logLevel, stream: process.stderr }, logRequests, secrets: secretsIn(environment) };
}

function secretsIn(environment: Environment): string[] {
  return Object.entries(environment).flatMap(([name, value = '']) =>
    /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/iu.test(name) && value.length >= MIN_LENGTH ? [value] : [],
  );
}

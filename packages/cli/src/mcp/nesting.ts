import type { Environment } from '../terminal/style.js';
import { UsageError } from '../usage-error.js';

/** How many programs of this kind have started each other, as a server of its own. */
const VARIABLE = 'TOOLSCRIPT_MCP_DEPTH';

/** A gateway may be a server of another one. */
const MAX_DEPTH = 1;

/** The servers with the depth of what they start: they inherit nothing of the environment. */
export function withDepth(
  servers: Readonly<Record<string, unknown>>,
  environment: Environment,
): Record<string, unknown> {
  const depth = { [VARIABLE]: String(depthIn(environment) + 1) };
  return Object.fromEntries(
    Object.entries(servers).map(([name, entry]) => [name, isProgram(entry) ? withVariables(entry, depth) : entry]),
  );
}

/** Throws a UsageError where gateways start each other: a configuration that names its own gateway would never end. */
export function demandShallow(environment: Environment): void {
  // defence: gateway-starts-itself-not-forever
  if (depthIn(environment) > MAX_DEPTH)
    throw new UsageError(
      'This gateway is a server of a gateway that is a server of a gateway. Take toolscript mcp out of the mcp.json that it reads, or name another file with --config.',
    );
}

function depthIn(environment: Environment): number {
  const depth = Number(environment[VARIABLE] ?? 0);
  return Number.isSafeInteger(depth) && depth >= 0 ? depth : MAX_DEPTH + 1;
}

function isProgram(entry: unknown): entry is { command: string; env?: unknown } {
  return typeof (entry as { command?: unknown } | null)?.command === 'string';
}

function withVariables(entry: { env?: unknown }, variables: Record<string, string>): object {
  const { env = {} } = entry;
  // An entry that is wrong is reported by whoever reads it.
  return typeof env === 'object' && env !== null ? { ...entry, env: { ...env, ...variables } } : entry;
}

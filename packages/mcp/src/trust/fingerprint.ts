import { createHash } from 'node:crypto';
import type { ServerToStart } from '../configuration/server-config.js';
import type { ToolDefinition } from '../tools/definition.js';

/**
 * The hash of a server's whole definition of a tool: equal definitions give equal hashes, regardless of member order.
 */
export function toolFingerprint(definition: ToolDefinition): string {
  const known = fingerprints.get(definition);
  if (known !== undefined) return known;
  const { name, title, description, inputSchema, outputSchema, annotations, uiResource } = definition;
  const made = hash({ name, title, description, inputSchema, outputSchema, annotations, uiResource });
  fingerprints.set(definition, made);
  return made;
}

/** The fingerprints of definitions, which do not change. */
const fingerprints = new WeakMap<ToolDefinition, string>();

/**
 * The hash of the server's identity: its program, arguments and folder, or its address. The hash omits variables,
 * headers and the query, which may hold secrets.
 */
export function serverFingerprint({ transport }: Pick<ServerToStart, 'transport'>): string {
  return hash(transportIdentity(transport));
}

function transportIdentity(transport: ServerToStart['transport']): object {
  if (transport.type === 'stdio') return { command: transport.command, args: transport.args, cwd: transport.cwd };
  if (transport.type !== 'openapi') return { url: place(transport.url) };
  const { document, baseUrl } = transport;
  return { openapi: typeof document === 'string' ? document : place(document), baseUrl: baseUrl && place(baseUrl) };
}

const place = ({ origin, pathname }: URL) => `${origin}${pathname}`;

/** The SHA-256 of a value as JSON, regardless of member order, as hexadecimal digits. */
export function hash(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

/** JSON text with sorted members. `value` is at most as deep as a definition. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : member,
  );
}

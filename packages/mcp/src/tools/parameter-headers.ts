import { isRecord } from '@toolscript/core/internal';
import { toolName, type SkippedTool } from './definition.js';

/** Names the header that carries an argument, too (protocol 2026-07-28, over HTTP). */
const KEYWORD = 'x-mcp-header';
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/u;
/** Keywords whose members are schemas. */
const MAPS: ReadonlySet<string> = new Set([
  'properties',
  '$defs',
  'definitions',
  'patternProperties',
  'dependentSchemas',
]);
const DATA: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples']);

interface Place {
  readonly schema: Record<string, unknown>;
  /** Whether the schema is one of an argument, or of a member of an argument. */
  readonly isArgument: boolean;
}

/** The tools of a list whose arguments can be sent as the headers that their schemas name, and the others. */
export function sendableTools(listed: readonly unknown[]): { items: unknown[]; skipped: SkippedTool[] } {
  const items: unknown[] = [];
  const skipped: SkippedTool[] = [];
  for (const [index, tool] of listed.entries()) {
    const { name, inputSchema } = isRecord(tool) ? tool : {};
    const reason = headerProblem(inputSchema);
    if (reason === undefined) items.push(tool);
    else skipped.push({ name: toolName(name, index), reason });
  }
  return { items, skipped };
}

/**
 * The reason why arguments cannot be sent as the headers that a schema names, as a part of a sentence. The protocol
 * excludes such a tool: its server refuses calls without these headers.
 */
function headerProblem(inputSchema: unknown): string | undefined {
  const used = new Set<string>();
  for (const { schema, isArgument } of placesIn(inputSchema)) {
    if (!Object.hasOwn(schema, KEYWORD)) continue;
    const header = schema[KEYWORD];
    if (typeof header !== 'string' || !HEADER_NAME.test(header)) return `its "${KEYWORD}" is not the name of a header`;
    if (!isArgument || !TYPES.has(schema['type']))
      return `its "${KEYWORD}" is not on an argument that is a string, an integer or a boolean`;
    if (used.has(header.toLowerCase())) return `two of its arguments have the same "${KEYWORD}"`;
    used.add(header.toLowerCase());
  }
  return undefined;
}

function* placesIn(given: unknown, isRoot = true, isArgument = false): Generator<Place> {
  if (Array.isArray(given)) for (const part of given as unknown[]) yield* placesIn(part, false);
  if (!isRecord(given)) return;
  yield { schema: given, isArgument };
  for (const [keyword, part] of Object.entries(given)) {
    if (DATA.has(keyword)) continue;
    const parts = MAPS.has(keyword) && isRecord(part) ? Object.values(part) : [part];
    const reaches = keyword === 'properties' && (isRoot || isArgument);
    for (const inner of parts) yield* placesIn(inner, false, reaches);
  }
}

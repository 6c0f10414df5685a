import { isRecord } from '@toolscript/core/internal-data';
import { oneLine, thrownMessage } from '../connection/readable.js';
import type { SkippedTool, ToolNotes } from '../tools/definition.js';
import type { ApiDocument } from './document.js';
import { bodyPlan, type BodyPlan } from './request-body.js';
import { readParameters, type Parameter } from './parameters.js';
import { resultSchema } from './result-schema.js';
import { DocumentSchemas } from './schemas.js';

/** How the arguments of a call become a request. */
export interface Operation {
  /** In capital letters. */
  readonly method: string;
  /** The path below the base URL, with `{NAME}` in place of parameters. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: BodyPlan | undefined;
}

/** The operations of a document. */
export interface ReadOperations {
  /** The definitions of the tools, in the form in which an MCP server lists them. */
  readonly items: readonly unknown[];
  /** The operations by the names of their tools. */
  readonly operations: ReadonlyMap<string, Operation>;
  readonly skipped: readonly SkippedTool[];
  readonly notes: readonly ToolNotes[];
  readonly incomplete: string | undefined;
}

type Json = Readonly<Record<string, unknown>>;

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete'] as const;
const READING: ReadonlySet<string> = new Set(['get', 'head']);
const MAX_OPERATIONS = 2_000;
const MAX_DESCRIPTION_LENGTH = 1_000;
const MAX_PATH_LENGTH = 200;

/** One operation of the document, before it is read. */
interface Place {
  readonly method: (typeof METHODS)[number];
  readonly path: string;
  readonly item: Json;
  readonly operation: Json;
}

/** Reads the operations of a document. One that is wrong affects only its own tool. `base`: where requests go. */
export function readOperations({ content }: ApiDocument, base: URL): ReadOperations {
  const schemas = new DocumentSchemas(content);
  const { places, skipped } = findOperations(content, schemas);
  const items: unknown[] = [];
  const operations = new Map<string, Operation>();
  const notes: ToolNotes[] = [];
  for (const place of places.slice(0, MAX_OPERATIONS)) {
    const name = toolName(place, operations);
    try {
      const problems = new Set<string>();
      demandBase(place, base);
      const { definition, operation } = readOperation(place, schemas, problems);
      items.push({ name, ...definition });
      operations.set(name, operation);
      if (problems.size > 0)
        notes.push({
          name,
          notes: [...problems].map((problem) => oneLine(`It is declared incompletely: ${problem}.`, 300)),
        });
    } catch (error) {
      skipped.push({ name, reason: oneLine(thrownMessage(error), 300) });
    }
  }
  const incomplete =
    places.length > MAX_OPERATIONS ? `its document has more than ${MAX_OPERATIONS} operations` : undefined;
  return { items, operations, skipped, notes, incomplete };
}

function findOperations({ paths }: Json, schemas: DocumentSchemas): { places: Place[]; skipped: SkippedTool[] } {
  const places: Place[] = [];
  const skipped: SkippedTool[] = [];
  for (const [path, given] of Object.entries(isRecord(paths) ? paths : {})) {
    if (path.startsWith('x-')) continue;
    const item = schemas.resolve(given);
    if (item === undefined) {
      skipped.push({ name: oneLine(path, MAX_PATH_LENGTH), reason: 'its description is not in the document' });
      continue;
    }
    for (const method of METHODS) {
      if (!Object.hasOwn(item, method)) continue;
      const operation = item[method];
      if (isRecord(operation)) places.push({ method, path, item, operation });
      else skipped.push({ name: operationTitle({ method, path }), reason: 'its description is not an object' });
    }
  }
  return { places, skipped };
}

/** The operation's own name. Without one, or if another operation has it, its method and path. */
function toolName({ method, path, operation }: Place, taken: ReadonlyMap<string, unknown>): string {
  const { operationId } = operation;
  if (typeof operationId === 'string' && operationId !== '' && !taken.has(operationId)) return operationId;
  const words = path.split(/[^\w-]+/u).filter((word) => word !== '');
  const name = [method, ...words].join('_');
  if (!taken.has(name)) return name;
  return operationTitle({ method, path });
}

/** Refuses an operation whose own servers are elsewhere. */
function demandBase({ item, operation }: Place, base: URL): void {
  const servers = operation['servers'] ?? item['servers'];
  const urls = (Array.isArray(servers) ? (servers as unknown[]) : []).flatMap((server) =>
    isRecord(server) && typeof server['url'] === 'string' ? [server['url']] : [],
  );
  // defence: openapi-operations-stay-at-the-base
  if (
    urls.length === 0 ||
    urls.some((url) => URL.canParse(url, base.href) && new URL(url, base).origin === base.origin)
  )
    return;
  throw new Error(`its server is ${oneLine(urls[0]!, 200)}, and not the one of "baseUrl"`);
}

function readOperation(place: Place, schemas: DocumentSchemas, problems: Set<string>) {
  const { method, path, item, operation } = place;
  const body = bodyPlan(operation['requestBody'], schemas, problems);
  const parameters = readParameters([item['parameters'], operation['parameters']], { path, body, schemas, problems });
  const inputSchema = {
    type: 'object',
    // The user trusts the whole definition, which models do not see in full: this is how the arguments are sent.
    $comment: JSON.stringify([parameters.map(({ schema: _schema, ...sent }) => sent), body?.mediaType, body?.isWhole]),
    properties: Object.fromEntries([
      ...parameters.map(({ argument, schema }): [string, unknown] => [argument, schema]),
      ...(body?.properties ?? []),
    ]),
    required: [
      ...parameters.filter(({ isRequired }) => isRequired).map(({ argument }) => argument),
      ...(body?.required ?? []),
    ],
    additionalProperties: body?.additionalProperties ?? false,
  };
  const result = resultSchema(operation['responses'], schemas);
  const definition = {
    title: operationTitle(place),
    description: description(place),
    inputSchema: schemas.forTool(inputSchema, problems),
    ...(result === undefined ? {} : { outputSchema: schemas.forTool(result, problems) }),
    annotations: READING.has(method) ? { readOnlyHint: true } : {},
  };
  return { definition, operation: { method: method.toUpperCase(), path, parameters, body } satisfies Operation };
}

const operationTitle = ({ method, path }: Pick<Place, 'method' | 'path'>) =>
  `${method.toUpperCase()} ${oneLine(path, MAX_PATH_LENGTH)}`;

function description(place: Place): string {
  const { summary, description: text, deprecated } = place.operation;
  const parts = [summary, text === summary ? undefined : text].filter(
    (part) => typeof part === 'string' && part !== '',
  );
  const said = parts.join('\n').slice(0, MAX_DESCRIPTION_LENGTH);
  return [said, `${operationTitle(place)}${deprecated === true ? ', deprecated' : ''}`]
    .filter((part) => part !== '')
    .join('\n');
}

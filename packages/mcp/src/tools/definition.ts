import { isRecord } from '@toolscript/core/internal';
import { inTurns } from './in-turns.js';
import { jsonDepthExceeds, MAX_JSON_DEPTH } from '@toolscript/core/internal';

/** A tool as its server describes it. Untrusted data of bounded size and depth. */
export interface ToolDefinition {
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  /** A schema of an object. */
  readonly inputSchema: object;
  readonly outputSchema: object | undefined;
  readonly annotations: ToolHints;
  /** The address of the resource with which an MCP App shows the results of the tool. */
  readonly uiResource?: string | undefined;
  /** Whether a call must or may run as a task, which the client asks for (protocol 2025-11-25). */
  readonly taskSupport?: 'required' | 'optional' | undefined;
}

/**
 * A server's hints about its tool. Those about the effect count only if the configuration trusts the server's
 * annotations.
 */
interface ToolHints {
  readonly readOnlyHint?: boolean | undefined;
  readonly destructiveHint?: boolean | undefined;
  /** True: the results are text of unknown authors. */
  readonly openWorldHint?: boolean | undefined;
}

/** A tool that scripts do not receive. */
export interface SkippedTool {
  readonly name: string;
  /** The reason, as a part of a sentence. */
  readonly reason: string;
}

/** A tool with constraints that only its server checks, such as a part of a schema that is not valid JSON Schema. */
export interface ToolNotes {
  readonly name: string;
  /** A sentence for each constraint. */
  readonly notes: readonly string[];
}

/** Maximum characters of one definition as JSON. */
const MAX_DEFINITION_LENGTH = 256 * 1024;
const MAX_NAME_LENGTH = 256;

/** Parses a server's list of tools. If several tools have the same name, only the first one is used. */
export async function readDefinitions(
  listed: readonly unknown[],
): Promise<{ tools: ToolDefinition[]; skipped: SkippedTool[] }> {
  const tools = new Map<string, ToolDefinition>();
  const skipped: SkippedTool[] = [];
  for await (const [index, given] of inTurns(listed.entries())) {
    const tool = readDefinition(given, index);
    if ('reason' in tool) skipped.push(tool);
    else if (tools.has(tool.name))
      skipped.push({ name: tool.name, reason: 'the server lists two tools with this name' });
    else tools.set(tool.name, tool);
  }
  return { tools: [...tools.values()], skipped };
}

function readDefinition(given: unknown, index: number): ToolDefinition | SkippedTool {
  if (!isRecord(given)) return { name: toolName(undefined, index), reason: 'it is not an object' };
  const { name, title, description, inputSchema, outputSchema, annotations, execution, _meta: meta } = given;
  const refuse = (reason: string): SkippedTool => ({ name: toolName(name, index), reason });
  if (typeof name !== 'string' || name === '') return refuse('it has no name');
  if (name.length > MAX_NAME_LENGTH) return refuse(`its name has more than ${MAX_NAME_LENGTH} characters`);
  const problem = definitionProblem({ title, description, inputSchema, outputSchema, annotations });
  if (problem !== undefined) return refuse(problem);
  return {
    name,
    title: text(title),
    description: text(description),
    inputSchema: objectSchema(inputSchema),
    outputSchema: isRecord(outputSchema) ? outputSchema : undefined,
    annotations: annotationHints(annotations),
    uiResource: uiResource(meta),
    taskSupport: taskSupport(execution),
  };
}

/** The name by which a tool that is not used is reported. */
export function toolName(name: unknown, index: number): string {
  return typeof name === 'string' && name !== '' ? name.slice(0, MAX_NAME_LENGTH) : `tool ${index + 1}`;
}

/** The schema as one of an object: arguments are always an object, whatever the server writes. */
function objectSchema(schema: unknown): object {
  if (!isRecord(schema)) return { type: 'object' };
  const { type } = schema;
  return type === undefined || [type].flat().includes('object') ? schema : { ...schema, type: 'object' };
}

const TOO_DEEP = `its definition is nested more than ${MAX_JSON_DEPTH} levels deep`;

/**
 * The reason why a definition is refused; undefined if there is none. The depth is measured on JSON text, because a
 * recursive walk over a value that is too deep would overflow the stack.
 */
function definitionProblem(parts: object): string | undefined {
  let json: string;
  try {
    json = JSON.stringify(parts);
  } catch {
    return TOO_DEEP;
  }
  // defence: mcp-definitions-have-a-size
  if (json.length > MAX_DEFINITION_LENGTH) return `its definition has more than ${MAX_DEFINITION_LENGTH} characters`;
  // defence: mcp-definitions-have-a-depth
  if (jsonDepthExceeds(json, MAX_JSON_DEPTH)) return TOO_DEEP;
  return undefined;
}

function annotationHints(annotations: unknown): ToolHints {
  if (!isRecord(annotations)) return {};
  const { readOnlyHint, destructiveHint, openWorldHint } = annotations;
  return {
    ...(typeof openWorldHint === 'boolean' ? { openWorldHint } : {}),
    ...(typeof readOnlyHint === 'boolean' ? { readOnlyHint } : {}),
    ...(typeof destructiveHint === 'boolean' ? { destructiveHint } : {}),
  };
}

function uiResource(meta: unknown): string | undefined {
  if (!isRecord(meta)) return undefined;
  const uri = isRecord(meta['ui']) ? meta['ui']['resourceUri'] : meta['ui/resourceUri'];
  return typeof uri === 'string' && uri.startsWith('ui://') ? uri : undefined;
}

function taskSupport(execution: unknown): ToolDefinition['taskSupport'] {
  const support = isRecord(execution) ? execution['taskSupport'] : undefined;
  return support === 'required' || support === 'optional' ? support : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

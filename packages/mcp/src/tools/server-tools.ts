import { createHash } from 'node:crypto';
import {
  defineTool,
  guardDestinations,
  type DefinedTool,
  type ResultShapes,
  type Tool,
  type ToolCallContext,
} from '@toolscript/core';
import { isRecord } from '@toolscript/core/internal';
import type { ValidationResult } from '@toolscript/core/protocol';
import type { ServerConfig, ToolAction } from '../configuration/server-config.js';
import { thrownMessage, oneLine, plainLines } from '../connection/readable.js';
import { readResult, type OutputProblem } from './call-result.js';
import type { ToolNotes, SkippedTool, ToolDefinition } from './definition.js';
import type { ImageCache } from './image-cache.js';
import { inTurns } from './in-turns.js';
import { acceptingLongIntegers, markLongIntegers } from './long-integers.js';
import { readableSchema } from './readable-schema.js';
import { scriptNames } from './script-names.js';

/** Makes one call on the server. */
type CallServer = (
  definition: ToolDefinition,
  input: Record<string, unknown>,
  options: { signal: AbortSignal; onProgress: (message: string) => void },
) => Promise<unknown>;

export interface ServerToolsOptions {
  readonly config: ServerConfig;
  /** The server's part of `tools.mcp.SERVER.TOOL`. */
  readonly namespace: string;
  readonly call: CallServer;
  /** Keeps the images of results. */
  readonly images: ImageCache;
  /** Keeps what the results of a tool look like. */
  readonly shapes: (definition: ToolDefinition) => ResultShapes;
  /** See `McpOptions`. */
  readonly flow?: 'destinations' | undefined;
}

const MAX_DESCRIPTION_LENGTH = 8_000;
const MAX_URI_LENGTH = 500;

/** The tools of one server for a harness. An unusable definition affects only its own tool. */
export async function serverTools(
  definitions: readonly ToolDefinition[],
  options: ServerToolsOptions,
): Promise<{ tools: Tool[]; skipped: SkippedTool[]; notes: ToolNotes[] }> {
  const names = scriptNames(definitions.map(({ name }) => name));
  const tools: Tool[] = [];
  const skipped: SkippedTool[] = [];
  const notes: ToolNotes[] = [];
  for await (const definition of inTurns(definitions)) {
    const { name } = definition;
    const action = actionFor(name, options.config);
    // defence: mcp-blocked-tools
    if (action === 'block') continue;
    const scriptName = `mcp.${options.namespace}.${names.get(name)}`;
    try {
      const tool = serverTool(scriptName, action, definition, options);
      tools.push(options.flow === undefined ? tool : guardDestinations([tool])[0]!);
      if (tool.notes.length > 0) notes.push({ name, notes: tool.notes.map((note) => oneLine(note, 300)) });
    } catch (error) {
      skipped.push({ name, reason: oneLine(thrownMessage(error), 500).replace(/[.]$/u, '') });
    }
  }
  return { tools, skipped, notes };
}

/** The end of a description that names the page for the results of a tool. */
function uiLink({ name }: ServerConfig, uri: string | undefined): string {
  return uri === undefined
    ? ''
    : `\nAn MCP App shows its results: the resource ${oneLine(uri, MAX_URI_LENGTH)} of the server ${oneLine(name, MAX_URI_LENGTH)}.`;
}

/** The user's rule for a tool; undefined if the annotations decide. */
function actionFor(name: string, { tools }: ServerConfig): ToolAction | undefined {
  return Object.hasOwn(tools, name) ? tools[name] : tools['*'];
}

function serverTool(
  name: string,
  action: Exclude<ToolAction, 'block'> | undefined,
  definition: ToolDefinition,
  { config, call, images, shapes }: ServerToolsOptions,
): DefinedTool {
  const { annotations, inputSchema, outputSchema, description, title, uiResource } = definition;
  const hints = config.trustAnnotations ? annotations : {};
  const scriptSchema = acceptingLongIntegers(inputSchema);
  const make = (output: object | undefined): DefinedTool => {
    const outputProblem = output && outputCheck(name, output);
    const tool = defineTool(
      {
        name,
        description: [plainLines(description ?? title ?? '', MAX_DESCRIPTION_LENGTH), uiLink(config, uiResource)].join(
          '',
        ),
        inputSchema: readableSchema(scriptSchema),
        ...(output === undefined ? {} : { outputSchema: declaredOutput(readableSchema(output), config) }),
        effect: toolEffect(hints),
        approval: toolApproval(action, hints),
        // A hint that makes a tool less trusted counts without trust in the annotations.
        trust: annotations.openWorldHint === true ? 'untrusted' : 'trusted',
        source: serverSource(config),
        permissions: () => [name.replace('.', ':')],
        execute: async (input: Record<string, unknown>, { signal, progress, warn }: ToolCallContext) => {
          const sent = scriptSchema === inputSchema ? input : markLongIntegers(inputSchema, input);
          const result = await call(definition, sent, { signal, onProgress: progress });
          const { value, warning } = readResult(result, { name: definition.name, outputProblem }, images);
          if (warning !== undefined) warn?.(warning);
          return value;
        },
      },
      // One wrong part of a schema must not hide the whole tool: the server checks that part itself.
      { namespace: 'mcp', skipFlaws: true },
    );
    // The call has run, so a result that is not as declared is a warning.
    return Object.freeze({
      ...tool,
      resultShapes: output === undefined ? shapes(definition) : undefined,
      validateOutput: (value: unknown) => ({ ok: true, value }) as ValidationResult,
    });
  };
  if (outputSchema === undefined) return make(undefined);
  try {
    return make(outputSchema);
  } catch {
    // A tool with an unusable output schema is treated like a tool without an output schema.
    return make(undefined);
  }
}

/** Finds how a result differs from the server's own output schema, which is compiled for the first result. */
function outputCheck(name: string, schema: object): OutputProblem {
  let checker: DefinedTool | undefined;
  return (value) => {
    checker ??= defineTool(
      { name, description: '', outputSchema: schema, execute: () => undefined as never },
      { namespace: 'mcp', skipFlaws: true },
    );
    const validated = checker.validateOutput(value);
    if (validated.ok) return undefined;
    const issues = validated.issues.map(({ path, message }) => `${path.replace(/^args/u, 'result')}: ${message}`);
    return oneLine(issues.join('; '), 500);
  };
}

/**
 * The output schema as declared to scripts: an object of an MCP server may have `_content`, see `readResult`.
 */
function declaredOutput(schema: object, { transport }: ServerConfig): object {
  const { properties } = schema as { properties?: unknown };
  if (transport.type === 'openapi' || !isRecord(properties) || Object.hasOwn(properties, '_content')) return schema;
  return { ...schema, properties: { ...properties, _content: { type: 'array', items: {} } } };
}

/** The fingerprint of the server. An approval of a call does not cover the same call to another server. */
function serverSource({ transport }: ServerConfig): string {
  return createHash('sha256')
    .update(JSON.stringify(transportIdentity(transport)))
    .digest('hex');
}

function transportIdentity(transport: ServerConfig['transport']): unknown[] {
  if (transport.type === 'stdio') return [transport.command, transport.args, transport.cwd ?? null];
  return transport.type === 'openapi' ? [transport.document, transport.baseUrl] : [transport.url.href];
}

function toolEffect({ readOnlyHint, destructiveHint }: ToolDefinition['annotations']): 'read' | 'write' | 'external' {
  if (readOnlyHint === true) return 'read';
  return destructiveHint === false ? 'write' : 'external';
}

function toolApproval(
  action: Exclude<ToolAction, 'block'> | undefined,
  { readOnlyHint, destructiveHint }: ToolDefinition['annotations'],
): 'never' | 'always' | 'policy' {
  if (action !== undefined) return action === 'allow' ? 'never' : 'always';
  return destructiveHint === true && readOnlyHint !== true ? 'always' : 'policy';
}

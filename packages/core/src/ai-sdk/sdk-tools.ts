import { asSchema, type FlexibleSchema, type ToolSet } from 'ai';
import {
  ToolCallError,
  ToolscriptUsageError,
  type JsonObject,
  type Tool,
  type ToolCallContext,
} from '../protocol/index.js';
import { defineTool } from '../tools/index.js';
import { toolJudge, type CallJudge, type OuterCall, type ScriptToolApproval } from './tool-approval.js';

type SdkTool = ToolSet[string];
type Options = Parameters<NonNullable<SdkTool['execute']>>[1];

export interface ReadTool {
  readonly tool: Tool;
  /** Decides about a call; undefined if no call needs approval. */
  readonly judge: CallJudge | undefined;
}

interface JsonSchemas {
  readonly inputSchema: JsonObject;
  readonly outputSchema: JsonObject | undefined;
}

/** Reads tools whose JSON Schemas may be promises. */
export function readTools(tools: ToolSet, toolApproval: ScriptToolApproval | undefined): Promise<ReadTool[]> {
  return Promise.all(
    Object.entries(tools).map(async ([name, tool]) => {
      const [input, output] = jsonSchemas(tool);
      const schemas = { inputSchema: (await input)!, outputSchema: await output };
      return readTool(name, tool, schemas, toolJudge(tools, name, toolApproval));
    }),
  );
}

/** Reads tools at once. Throws a `ToolscriptUsageError` for a JSON Schema that is a promise. */
export function readToolsAtOnce(tools: ToolSet, toolApproval: ScriptToolApproval | undefined): ReadTool[] {
  return Object.entries(tools).map(([name, tool]) => {
    const [inputSchema, outputSchema] = jsonSchemas(tool);
    if (isPromise(inputSchema) || isPromise(outputSchema))
      throw new ToolscriptUsageError('SDK_SCHEMA_IS_A_PROMISE', { name });
    return readTool(name, tool, { inputSchema: inputSchema!, outputSchema }, toolJudge(tools, name, toolApproval));
  });
}

/** The JSON Schemas of the input and of the output, which may be undefined. */
function jsonSchemas(tool: SdkTool): (JsonObject | PromiseLike<JsonObject> | undefined)[] {
  const { outputSchema } = tool as { outputSchema?: FlexibleSchema | undefined };
  return [tool.inputSchema as FlexibleSchema, outputSchema].map((schema) =>
    schema === undefined ? undefined : (asSchema(schema).jsonSchema as JsonObject | PromiseLike<JsonObject>),
  );
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function';
}

function readTool(name: string, sdkTool: SdkTool, schemas: JsonSchemas, judge: CallJudge | undefined): ReadTool {
  const { execute, description } = sdkTool;
  if (typeof execute !== 'function') throw new ToolscriptUsageError('SDK_TOOL_WITHOUT_EXECUTE', { name });
  const input = asSchema(sdkTool.inputSchema as FlexibleSchema);
  const read = async (value: unknown): Promise<unknown> => {
    const validated = await input.validate?.(value);
    if (validated === undefined) return value;
    if (validated.success) return validated.value;
    throw new ToolCallError('ToolValidationError', `${name}: ${validated.error.message}`);
  };
  const tool = defineTool({
    name,
    description: typeof description === 'string' ? description : name,
    inputSchema: schemas.inputSchema,
    ...(schemas.outputSchema === undefined ? {} : { outputSchema: schemas.outputSchema }),
    approval:
      judge === undefined ? 'never' : async (value, { app }) => (await judge(value, app as OuterCall)) !== 'free',
    execute: async (value, context) =>
      lastResult(
        await (execute as (input: unknown, options: Options) => unknown)(await read(value), sdkOptions(context)),
      ),
  });
  return { tool, judge };
}

/** Returns the options that the AI SDK passed to the script tool, with the signal of this call. */
function sdkOptions({ app, signal }: ToolCallContext): Options {
  return { ...(app as object), abortSignal: signal } as unknown as Options;
}

async function lastResult(result: unknown): Promise<unknown> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result;
  let last: unknown;
  for await (const part of result as AsyncIterable<unknown>) last = part;
  return last;
}

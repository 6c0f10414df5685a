import { asSchema, type FlexibleSchema, type ToolSet } from 'ai';
import { ToolCallError, ToolscriptUsageError, type Tool, type ToolCallContext } from '../protocol/index.js';
import { defineTool } from '../tools/index.js';

/** The options of the script tool's call. The script's own calls pass these options on to the called tools. */
export interface OuterCall {
  readonly toolCallId: string;
  readonly messages: readonly unknown[];
}

type SdkTool = ToolSet[string];
type Options = Parameters<NonNullable<SdkTool['execute']>>[1];

/** Returns whether a user must approve a call with this input, as `needsApproval` of the tool decides. */
type AsksUser = (input: unknown, call: OuterCall) => Promise<boolean>;

export interface ReadTool {
  readonly tool: Tool;
  /** Decides whether a user must approve a call; undefined if no call needs approval. */
  readonly asksUser: AsksUser | undefined;
}

export function readTools(tools: ToolSet): Promise<ReadTool[]> {
  return Promise.all(Object.entries(tools).map(([name, tool]) => readTool(name, tool)));
}

async function readTool(name: string, sdkTool: SdkTool): Promise<ReadTool> {
  const { execute, description } = sdkTool;
  if (typeof execute !== 'function') throw new ToolscriptUsageError('SDK_TOOL_WITHOUT_EXECUTE', { name });
  const input = asSchema(sdkTool.inputSchema as FlexibleSchema);
  const output = (sdkTool as { outputSchema?: FlexibleSchema | undefined }).outputSchema;
  const outputSchema = output === undefined ? undefined : await asSchema(output).jsonSchema;
  const asksUser = asker(sdkTool);
  const read = async (value: unknown): Promise<unknown> => {
    const validated = await input.validate?.(value);
    if (validated === undefined) return value;
    if (validated.success) return validated.value;
    throw new ToolCallError('ToolValidationError', `${name}: ${validated.error.message}`);
  };
  const tool = defineTool({
    name,
    description: typeof description === 'string' ? description : name,
    inputSchema: await input.jsonSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    approval: asksUser === undefined ? 'never' : async (value, { app }) => asksUser(value, app as OuterCall),
    execute: async (value, context) =>
      lastResult(
        await (execute as (input: unknown, options: Options) => unknown)(await read(value), sdkOptions(context)),
      ),
  });
  return { tool, asksUser };
}

function asker({ needsApproval }: SdkTool): AsksUser | undefined {
  if (needsApproval === undefined || needsApproval === false) return undefined;
  if (needsApproval === true) return () => Promise.resolve(true);
  return async (input, call) => needsApproval(input as never, call as never);
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

import type { ToolSet } from 'ai';
import {
  createHarness,
  type HarnessOptions,
  type RunScriptInput,
  type RunScriptInputSchema,
  type RunScriptTool,
} from '../harness/index.js';
import { decideByMessages, needsUser } from './script-approval.js';
import { readTools, type OuterCall } from './sdk-tools.js';

/** The options that the AI SDK passes to `execute` and `needsApproval` of a tool. */
export interface ScriptToolCallOptions {
  toolCallId: string;
  messages: unknown[];
  abortSignal?: AbortSignal | undefined;
}

/**
 * The options of `createHarness`. With `approvals`, the host decides about each call, and the AI SDK requests no
 * approvals.
 */
export type ScriptToolOptions = Omit<HarnessOptions, 'tools'>;

/** A tool for `tools` of `generateText`, `streamText` and agents of the AI SDK. */
export interface AiSdkScriptTool {
  readonly description: string;
  readonly inputSchema: RunScriptInputSchema;
  /** True if a user must approve the script: it names a call that needs approval. */
  readonly needsApproval?: (input: RunScriptInput, options: ScriptToolCallOptions) => Promise<boolean>;
  /** Runs the script. Returns its report for the model. */
  readonly execute: (input: RunScriptInput, options: ScriptToolCallOptions) => Promise<string>;
}

/**
 * Creates one tool that runs scripts. The scripts call the given tools of the AI SDK. `close` frees the worker threads.
 *
 * A script that names a call whose tool has `needsApproval` becomes an approval request of the AI SDK. A
 * `needsApproval` function receives the arguments if the script contains their values. Otherwise, the call needs
 * approval. After the approval, the script may make the calls that it names. Other calls that need approval are denied.
 *
 * Each tool's `execute` receives the options of the script's own tool call: `toolCallId`, `messages` and the context.
 * `abortSignal` also aborts when the script ends. If a tool yields several results, the last one counts.
 *
 * Throws a `ToolscriptUsageError` for a tool without `execute`, which only the client or the provider can run.
 */
export async function createScriptTool(
  tools: ToolSet,
  options: ScriptToolOptions = {},
): Promise<{ tool: AiSdkScriptTool; close: () => Promise<void> }> {
  const given = await readTools(tools);
  // The harness does not get `onEvent`, because the host would then also receive the events of the dry runs that find a
  // script's calls.
  const { onEvent, ...others } = options;
  const harness = createHarness({ ...others, tools: given.map(({ tool }) => tool) });
  const close = (): Promise<void> => harness.close();
  const run = onEvent === undefined ? {} : { onEvent };
  if (options.approvals !== undefined)
    return { tool: scriptTool(harness.asTool(), (app) => harness.asTool({ ...run, app })), close };
  const tool: AiSdkScriptTool = {
    ...scriptTool(harness.asTool(), (app) => harness.asTool({ ...run, app, approvals: decideByMessages(app) })),
    needsApproval: ({ code }, call) => needsUser(harness, given, code, call),
  };
  return { tool, close };
}

function scriptTool(
  { description, inputSchema }: RunScriptTool,
  toolFor: (call: OuterCall) => RunScriptTool,
): AiSdkScriptTool {
  return {
    description,
    inputSchema,
    execute: (input, { abortSignal, ...call }) =>
      toolFor(call).execute(input, abortSignal === undefined ? {} : { abortSignal }),
  };
}

import type { ToolSet } from 'ai';
import {
  createHarness,
  type HarnessOptions,
  type RunScriptInput,
  type RunScriptInputSchema,
  type RunScriptTool,
} from '../harness/index.js';
import { ToolscriptUsageError } from '../protocol/index.js';
import { decideByMessages, needsUser } from './script-approval.js';
import { readTools, readToolsAtOnce, type ReadTool } from './sdk-tools.js';
import type { OuterCall, ScriptToolApproval } from './tool-approval.js';

/** The options that the AI SDK passes to `execute` and `needsApproval` of a tool. */
export interface ScriptToolCallOptions {
  toolCallId: string;
  messages: unknown[];
  abortSignal?: AbortSignal | undefined;
}

/** The options of `createHarness`, and who decides about the calls of scripts. */
export type ScriptToolOptions = Omit<HarnessOptions, 'tools'> & {
  /**
   * The `toolApproval` of `generateText` (AI SDK 7), which the AI SDK applies to calls of the model alone. Pass the same
   * value here, so that it holds for the calls of scripts. Default: `needsApproval` of each tool. With `approvals`, the
   * host decides about each call instead, and the AI SDK requests no approvals; the two cannot be combined.
   */
  readonly toolApproval?: ScriptToolApproval | undefined;
};

/** A tool for `tools` of `generateText`, `streamText` and agents of the AI SDK. */
export interface AiSdkScriptTool {
  readonly description: string;
  readonly inputSchema: RunScriptInputSchema;
  /** True if a user must approve the script: it names a call that needs approval. */
  readonly needsApproval?: (input: RunScriptInput, options: ScriptToolCallOptions) => Promise<boolean>;
  /** Runs the script. Returns its report for the model. */
  readonly execute: (input: RunScriptInput, options: ScriptToolCallOptions) => Promise<string>;
}

/** A tool that the AI SDK 7 binds to the tools that name it in `experimental_toolCallers`, at each step. */
export interface AiSdkScriptCaller extends AiSdkScriptTool {
  readonly experimental_toolCaller: { readonly type: 'local'; readonly bind: (tools: ToolSet) => AiSdkScriptTool };
}

/**
 * Creates one tool that runs scripts. The scripts call the given tools of the AI SDK. `close` frees the worker threads.
 *
 * A script that names a call whose tool has `needsApproval` becomes an approval request of the AI SDK. A
 * `needsApproval` function receives the arguments if the script contains their values. Otherwise, the call needs
 * approval. After the approval, the script may make the calls that it names. Other calls that need approval are denied.
 * `toolApproval` takes the place of `needsApproval`, as in the AI SDK 7.
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
  return scriptTool(await readTools(tools, options.toolApproval), options);
}

/** Number of different sets of tools whose threads one caller keeps. */
const MAX_BOUND = 8;

/**
 * Creates a tool for `experimental_toolCallers` of the AI SDK 7. Its scripts call the tools that name it there, and the
 * model sees their declarations in its description. Everything else is as with `createScriptTool`. `close` frees the
 * worker threads.
 *
 * `tools`: the tools that name it. The AI SDK binds the tool to them at each step, but runs an approved script with the
 * tool as it is given, unbound. Bound to the same tools, it uses the same threads, so create the tools once, outside of
 * the requests; a caller keeps the threads of 8 different sets. A tool whose JSON Schema is a promise is a
 * `ToolscriptUsageError`.
 * docs/how-to/agent-libraries.md has an example.
 */
export function createScriptCaller(
  tools: ToolSet,
  options: ScriptToolOptions = {},
): { tool: AiSdkScriptCaller; close: () => Promise<void> } {
  const bound: BoundTools[] = [];
  const bind = (callable: ToolSet): AiSdkScriptTool => {
    const known = bound.find((one) => isSame(one.tools, callable));
    if (known !== undefined) return known.tool;
    const made = new BoundTools(callable, () => scriptTool(readToolsAtOnce(callable, options.toolApproval), options));
    bound.push(made);
    if (bound.length > MAX_BOUND) void bound.shift()!.release();
    return made.tool;
  };
  return {
    tool: { ...bind(tools), experimental_toolCaller: { type: 'local', bind } },
    close: async () => void (await Promise.all(bound.splice(0).map((one) => one.release()))),
  };
}

type OpenTool = ReturnType<typeof scriptTool>;

/** A script tool for one set of tools. After `release` its threads end with its last call. */
class BoundTools {
  readonly tools: ToolSet;
  readonly tool: AiSdkScriptTool;
  readonly #open: () => OpenTool;
  #opened: OpenTool | undefined;
  #calls = 0;
  #isReleased = false;

  constructor(tools: ToolSet, open: () => OpenTool) {
    this.tools = tools;
    this.#open = open;
    this.#opened = open();
    const { description, inputSchema, needsApproval } = this.#opened.tool;
    this.tool = {
      description,
      inputSchema,
      execute: (input, call) => this.#use(({ tool }) => tool.execute(input, call)),
      ...(needsApproval === undefined
        ? {}
        : { needsApproval: (input, call) => this.#use(({ tool }) => tool.needsApproval!(input, call)) }),
    };
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    await this.#closeIfIdle();
  }

  /** A step of a model that was bound before the release may call the tool after it. */
  async #use<Result>(act: (opened: OpenTool) => Promise<Result>): Promise<Result> {
    this.#opened ??= this.#open();
    this.#calls += 1;
    try {
      return await act(this.#opened);
    } finally {
      this.#calls -= 1;
      await this.#closeIfIdle();
    }
  }

  async #closeIfIdle(): Promise<void> {
    if (!this.#isReleased || this.#calls > 0) return;
    const opened = this.#opened;
    this.#opened = undefined;
    await opened?.close();
  }
}

function isSame(some: ToolSet, others: ToolSet): boolean {
  const names = Object.keys(some);
  return names.length === Object.keys(others).length && names.every((name) => some[name] === others[name]);
}

function scriptTool(
  given: readonly ReadTool[],
  options: ScriptToolOptions,
): { tool: AiSdkScriptTool; close: () => Promise<void> } {
  // The harness does not get `onEvent`, because the host would then also receive the events of the dry runs that find a
  // script's calls.
  const { onEvent, toolApproval, ...others } = options;
  if (toolApproval !== undefined && options.approvals !== undefined)
    throw new ToolscriptUsageError('SDK_TWO_APPROVALS');
  const harness = createHarness({ ...others, tools: given.map(({ tool }) => tool) });
  const close = (): Promise<void> => harness.close();
  const run = onEvent === undefined ? {} : { onEvent };
  if (options.approvals !== undefined)
    return { tool: withExecute(harness.asTool(), (app) => harness.asTool({ ...run, app })), close };
  const tool: AiSdkScriptTool = {
    ...withExecute(harness.asTool(), (app) => harness.asTool({ ...run, app, approvals: decideByMessages(given, app) })),
    needsApproval: ({ code }, call) => needsUser(harness, given, code, call),
  };
  return { tool, close };
}

function withExecute(
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

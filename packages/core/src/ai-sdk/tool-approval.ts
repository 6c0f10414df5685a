import type { ToolSet } from 'ai';

/** The options of the script tool's call. The script's own calls pass these options on to the called tools. */
export interface OuterCall {
  readonly toolCallId: string;
  readonly messages: readonly unknown[];
}

type StatusType = 'not-applicable' | 'approved' | 'denied' | 'user-approval';
type Status = undefined | StatusType | { readonly type: StatusType; readonly reason?: string | undefined };
type Answer = Status | PromiseLike<Status>;

/**
 * The value of `toolApproval` of `generateText` and `streamText` (AI SDK 7): a status or a function for each tool, or
 * one function for all. A function receives what the AI SDK passes for a call of the model, but no `toolContext`,
 * `toolsContext` or `runtimeContext`. `toolCallId` is that of the script.
 */
export type ScriptToolApproval =
  | { readonly [tool: string]: Status | ((input: never, options: never) => Answer) }
  | ((options: never) => Answer);

/** `free`: the call runs. `ask`: a user must approve it. `denied`: it does not run, for this reason. */
type Verdict = 'free' | 'ask' | { readonly denied: string };

export type CallJudge = (input: unknown, call: OuterCall) => Promise<Verdict>;

/** The judge of a tool's calls; undefined if no call needs approval. As in the AI SDK, `toolApproval` wins. */
export function toolJudge(
  tools: ToolSet,
  name: string,
  toolApproval: ScriptToolApproval | undefined,
): CallJudge | undefined {
  if (typeof toolApproval === 'function') {
    const judge = toolApproval as (options: object) => Answer;
    return async (input, { toolCallId, messages }) =>
      verdict(await judge({ toolCall: { type: 'tool-call', toolCallId, toolName: name, input }, tools, messages }));
  }
  const own = toolApproval !== undefined && Object.hasOwn(toolApproval, name) ? toolApproval[name] : undefined;
  if (own === undefined) return needsApprovalJudge(tools[name]!);
  if (typeof own !== 'function') return () => Promise.resolve(verdict(own));
  return async (input, { toolCallId, messages }) =>
    verdict(await (own as (input: unknown, options: object) => Answer)(input, { toolCallId, messages }));
}

function verdict(status: Status): Verdict {
  const { type, reason } = typeof status === 'object' ? status : { type: status };
  if (type === 'user-approval') return 'ask';
  if (type !== 'denied') return 'free';
  return { denied: reason ?? 'the program does not allow it' };
}

function needsApprovalJudge({ needsApproval }: ToolSet[string]): CallJudge | undefined {
  if (needsApproval === undefined || needsApproval === false) return undefined;
  if (needsApproval === true) return () => Promise.resolve('ask');
  return async (input, call) => ((await needsApproval(input as never, call as never)) ? 'ask' : 'free');
}

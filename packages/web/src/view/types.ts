import type { Thread } from '@toolscript/client';
import type { OutputItem, StreamEvent } from '@toolscript/core/stream';

type ItemOf<Type extends OutputItem['type']> = Extract<OutputItem, { type: Type }>;

export type MessageItem = ItemOf<'message'>;
export type FunctionCallItem = ItemOf<'function_call'>;
export type FunctionCallOutputItem = ItemOf<'function_call_output'>;
export type ScriptItem = ItemOf<'script_execution'>;
export type ScriptOutputItem = ItemOf<'script_execution_output'>;
type PlanItem = ItemOf<'plan'>;
type CompactionItem = ItemOf<'compaction'>;
type HostedCodeItem = ItemOf<'hosted_code'>;
type HostedCodeOutputItem = ItemOf<'hosted_code_output'>;
type ErrorItem = ItemOf<'error'>;
type ReasoningItem = ItemOf<'reasoning'>;
export type Operation = ScriptOutputItem['operations'][number];
type PlannedCall = NonNullable<ScriptItem['plan']>[number];
export type Effect = Operation['effect'];

/** A time span in ms since 1970; without `to` it has not ended. */
export interface Span {
  readonly from: number;
  readonly to?: number | undefined;
}

export type CallStatus = 'running' | 'waiting' | Operation['status'];

/** One tool call of a script, or a structured call. */
export interface CallView {
  readonly callId: string;
  readonly tool: string;
  readonly effect: Effect;
  readonly line?: number | undefined;
  readonly input: unknown;
  readonly status: CallStatus;
  /** The time of the request, in ms since 1970. */
  readonly requestedAt: number;
  /** The time at which the call began to run. */
  readonly startedAt?: number | undefined;
  readonly endedAt?: number | undefined;
  /** The time in which the call waited for a decision. */
  readonly wait?: Span | undefined;
  /** The source of the decision, such as `person` or `rule`. */
  readonly decidedBy?: string | undefined;
  readonly decision?: string | undefined;
  readonly note?: string | undefined;
  /** The arguments that the script passed; present if the user has edited them. */
  readonly askedInput?: unknown;
  readonly operation?: Operation | undefined;
}

export interface LogLine {
  readonly level: 'log' | 'info' | 'warn' | 'error' | 'debug';
  readonly text: string;
  /** The time of the line, in ms since 1970. */
  readonly at: number;
  /** Whether the line is a progress message of the script or a tool, rather than a console line. */
  readonly isProgress: boolean;
}

export type AgentStart = Extract<StreamEvent['payload'], { type: 'agent_start' }>;

/** A sub-agent of a script or of a structured call. */
export interface AgentView {
  readonly runId: string;
  readonly agent: string;
  readonly task: string;
  /** The call that launched the sub-agent. */
  readonly callId: string;
  /** The time of the start, in ms since 1970. */
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  readonly run: RunView;
}

/** `stopped`: the user stopped the run. `denied`: the script ended because a call was denied. */
export type ScriptStatus = 'typing' | 'stopped' | 'denied' | ScriptItem['status'];

export interface ScriptView {
  /** The `call_id` of the script. */
  readonly callId: string;
  readonly scriptId?: string | undefined;
  readonly source: string;
  readonly language: 'ts' | 'js';
  readonly status: ScriptStatus;
  /** The time at which the script began to run, in ms since 1970. */
  readonly startedAt?: number | undefined;
  readonly endedAt?: number | undefined;
  /** The calls, in the order in which they were requested. */
  readonly calls: readonly CallView[];
  readonly logs: readonly LogLine[];
  readonly plan: readonly PlannedCall[];
  /** The sub-agents, in the order in which they started. */
  readonly agents: readonly AgentView[];
  readonly output?: ScriptOutputItem | undefined;
  readonly sha256?: string | undefined;
}

export type Entry =
  | { readonly type: 'message'; readonly key: string; readonly item: MessageItem }
  | { readonly type: 'reasoning'; readonly key: string; readonly item: ReasoningItem }
  | { readonly type: 'script'; readonly key: string; readonly script: ScriptView }
  | {
      readonly type: 'call';
      readonly key: string;
      readonly item: FunctionCallItem;
      readonly output?: FunctionCallOutputItem | undefined;
      readonly call?: CallView | undefined;
      readonly agents: readonly AgentView[];
    }
  | { readonly type: 'hosted_code'; readonly key: string; readonly item: HostedCodeItem }
  | { readonly type: 'hosted_code_output'; readonly key: string; readonly item: HostedCodeOutputItem }
  | { readonly type: 'plan'; readonly key: string; readonly item: PlanItem }
  | { readonly type: 'compaction'; readonly key: string; readonly item: CompactionItem }
  | { readonly type: 'error'; readonly key: string; readonly item: ErrorItem };

/** A run as the server lists it. */
export type StoredRun = Thread['runs'][number];

type RunStatus = 'in_progress' | 'completed' | 'suspended' | 'failed' | 'cancelled' | 'incomplete';

interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly estimated?: boolean | undefined;
}

export interface RunView {
  readonly status: RunStatus;
  /** The entries of the run, with the user's messages first. */
  readonly entries: readonly Entry[];
  readonly usage?: Usage | undefined;
  /** The cost of the run's requests so far, in US dollars; undefined without prices. */
  readonly cost?: number | undefined;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  /**
   * Present while the run waits before it sends a request to its model again. `at`: the end of the wait, in ms since
   * 1970.
   */
  readonly retry?: { readonly message: string; readonly at: number } | undefined;
  /** The time of the first event, in ms since 1970. */
  readonly startedAt?: number | undefined;
}

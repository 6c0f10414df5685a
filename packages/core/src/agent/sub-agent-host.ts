import type { Decisions, Harness, RunOptions } from '../harness/index.js';
import type { LoadImage } from '../history/index.js';
import type { EventPayload, HarnessMode, ModelProvider, RunIdentity, StreamEvent, Usage } from '../protocol/index.js';
import type { AgentConfig } from './agent-config.js';
import type { RunBudget } from './run-budget.js';

/** A run, as its sub-agents use it. */
export interface AgentScope {
  readonly identity: RunIdentity;
  readonly agent: AgentConfig;
  readonly provider: ModelProvider;
  readonly harness: Harness;
  readonly mode: HarnessMode;
  /** The options that all scripts and calls of the run share. */
  readonly options: RunOptions;
  readonly loadImage: LoadImage | undefined;
  readonly signal: AbortSignal;
  readonly budget: RunBudget;
  /** The events of the run that an earlier process stored. */
  readonly earlier: readonly StreamEvent[];
  /** True: the store of scripts has lost nothing since the earlier process. See `RecoverRunOptions`. */
  readonly storeIsWhole: boolean;
  /** Emits an event of the run. */
  emit(payload: EventPayload): void;
  /** Resolves when everything emitted so far is stored. */
  flush(): Promise<void>;
  /** Counts the usage of a sub-agent, or of a request that a tool made, in the totals of the run. */
  addUsage(usage: Usage | undefined, cost: number | undefined): void;
  /**
   * Resolves when the current answer of the run has arrived. Until then, the budget reserves the maximum usage of this
   * answer.
   */
  answerArrived(): Promise<void>;
  /** The number of the run's calls that have started and not ended. */
  runningCalls(): number;
  /** Decisions about the approvals of the run's sub-agents, by approval id. */
  readonly decisions: Decisions;
  /** Suspends the run until these approvals of its sub-agents are decided. */
  suspend(approvalIds: readonly string[]): void;
}

/** The members of a scope that the state of its run provides. */
export type OfAgentRun = Pick<AgentScope, 'addUsage' | 'answerArrived'>;

/**
 * The sub-agents of a run. `ended`: the run has ended, and its sub-agents end too. `interrupted`: the run continues
 * later or in another process, and so do its sub-agents.
 */
export interface OpenSubAgents {
  close(how: 'ended' | 'interrupted'): Promise<void>;
}

/** The port through which a run opens and closes its sub-agents: `createSubAgents` implements it. */
export interface SubAgentHost {
  open(scope: AgentScope): OpenSubAgents;
  /** The budget of a run that is itself a sub-agent. */
  readonly budget?: RunBudget | undefined;
  /** The id of the run that launched this run. */
  readonly parentRunId?: string | undefined;
  /** The run that began the chain of sub-agents. */
  readonly rootRunId?: string | undefined;
  /** The chain of sub-agents from the first level to this run, inclusive. */
  readonly path?: readonly string[] | undefined;
}

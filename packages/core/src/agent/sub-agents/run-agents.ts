import {
  RunInterruption,
  subAgentEvent,
  type MessageItem,
  type ModelProvider,
  type StreamEvent,
  type ToolCallContext,
} from '../../protocol/index.js';
import { present } from '../../protocol/json.js';
import { modelFacts } from '../../protocol/known-models.js';
import { didYouMean } from '../../text/nearest-names.js';
import { newId, sha256 } from '../../text/crypto.js';
import type { AgentConfig } from '../agent-config.js';
import { recoverRun, resumeRun, runAgent } from '../run-agent.js';
import type { RunBudget } from '../run-budget.js';
import { spentIn } from '../spent.js';
import type { AgentScope, OpenSubAgents, SubAgentHost } from '../sub-agent-host.js';
import { decidedNow } from './child-approvals.js';
import { ChildRun, type AgentStart, type ChildPlayer } from './child-run.js';
import { dividedBudget, agentRefusal, type AgentCount, type AskedBudget } from './limits.js';
import { namedFileKeys, readFiles, type DocumentText, type NamedFiles } from './stored-files.js';

/** The agent that a sub-agent runs, and its provider. */
export interface OpenedSubAgent {
  readonly agent: AgentConfig;
  readonly provider: ModelProvider;
}

/** The position of a run in the tree of agents. */
export interface Lineage {
  /** The level of the run; 0 for a run that is not a sub-agent. */
  readonly depth: number;
  readonly count: AgentCount;
  /** The time at which the run ends at the latest, in ms since 1970; undefined if the run has no such limit. */
  readonly endsAt: number | undefined;
  /** The chain of sub-agents from the first level to this run, inclusive. Empty for a run that is not a sub-agent. */
  readonly path: readonly string[];
}

export interface RunAgentsSettings {
  readonly scope: AgentScope;
  readonly lineage: Lineage;
  readonly maxDepth: number;
  readonly openAgent: ((slug: string, scope: AgentScope) => Promise<OpenedSubAgent>) | undefined;
  readonly documentText: DocumentText | undefined;
  /** Opens the sub-agents of a sub-agent. */
  readonly openChild: (scope: AgentScope, lineage: Lineage) => OpenSubAgents;
  readonly onClosed: () => void;
  /** See `SubAgentOptions`. */
  readonly waitsForDecisions: boolean;
}

export interface Launch extends NamedFiles {
  agent?: string | undefined;
  task: string;
  tools?: string[] | undefined;
  budget?: AskedBudget | undefined;
  schema?: Record<string, unknown> | undefined;
}

/** The call that launches a sub-agent. */
interface LaunchingCall {
  readonly callId: string;
  readonly scriptId: string | undefined;
  readonly idempotencyKey: string;
  readonly covers?: ToolCallContext['covers'];
  readonly hasUntrustedInput?: ToolCallContext['hasUntrustedInput'];
}

/**
 * The sub-agents of one run. A sub-agent may outlive the script that launched it, and ends with the run. If the run is
 * suspended or its process ends, the unfinished sub-agents resume with the run.
 */
export class RunAgents implements OpenSubAgents {
  readonly #settings: RunAgentsSettings;
  readonly #children = new Map<string, ChildRun>();
  readonly #budgets = new Map<string, RunBudget>();
  #closeReason: 'ended' | 'interrupted' | undefined;
  /** The sub-agents that calls wait for, by the ids of the calls. */
  readonly #awaitedAgents = new Map<string, ChildRun>();
  #watching: NodeJS.Timeout | undefined;
  #isSuspending = false;

  constructor(settings: RunAgentsSettings) {
    this.#settings = settings;
    for (const [start, events] of startedIn(settings.scope.earlier)) this.#restore(start, events);
  }

  get scope(): AgentScope {
    return this.#settings.scope;
  }

  /** The sub-agent with this run id. Throws a `ToolCallError` if this run has launched no such sub-agent. */
  child(runId: string): ChildRun {
    const child = this.#children.get(runId);
    if (child !== undefined) return child;
    const known = [...this.#children.keys()];
    throw agentRefusal(
      `This run has launched no sub-agent ${JSON.stringify(runId)}.${didYouMean(runId, known) || ' Use the runId that agents.launch.async returned in the same run.'}`,
    );
  }

  /** Launches a sub-agent, or returns the sub-agent that the same call launched before. */
  async launch(launch: Launch, call: LaunchingCall, isDetached: boolean): Promise<ChildRun> {
    // defence: one-sub-agent-for-each-call
    const before = [...this.#children.values()].find(({ start }) => start.key === call.idempotencyKey);
    if (before !== undefined) return this.#startChild(before);
    const slug = launch.agent ?? this.scope.agent.slug;
    this.#checkDepth();
    const opened = await this.#open(slug);
    const files = await this.#fileBlocks(namedFileKeys(launch), call);
    await this.scope.answerArrived();
    const start = this.#agentStart({ ...launch, agent: slug }, call, { isDetached, opened, files });
    this.#settings.lineage.count.take();
    const child = this.#add(start, []);
    this.scope.emit(start);
    // Stores the start before the sub-agent works, so that a process that recovers the run finds the sub-agent.
    await this.scope.flush();
    return this.#startChild(child);
  }

  /** Resolves when a sub-agent has ended or is interrupted, or the signal aborts. */
  async whenOver(child: ChildRun, { callId, signal }: { callId: string; signal: AbortSignal }): Promise<void> {
    this.#awaitedAgents.set(callId, child);
    if (child.isWaiting) this.#watch();
    await child.whenOver(signal);
    this.#awaitedAgents.delete(callId);
  }

  async close(how: 'ended' | 'interrupted'): Promise<void> {
    if (this.#closeReason !== undefined) return;
    this.#closeReason = how;
    clearInterval(this.#watching);
    const children = [...this.#children.values()];
    for (const child of children) {
      if (how === 'interrupted') child.interrupt();
      else this.#end(child);
    }
    await Promise.all(children.map((child) => child.untilStopped));
    this.#settings.onClosed();
  }

  #end(child: ChildRun): void {
    child.end();
    // The sub-agent was suspended when this run started. It resumes only to end, so that its suspended script does not
    // stay in the store.
    if (child.isWaiting) this.#startChild(child);
  }

  #restore(start: AgentStart, events: readonly StreamEvent[]): void {
    const child = this.#add(start, events);
    if (start.detached) this.#startChild(child);
  }

  #add(start: AgentStart, earlier: readonly StreamEvent[]): ChildRun {
    const { scope } = this.#settings;
    const isInterrupted = () => this.#isInterrupted;
    const onWaiting = () => this.#watch();
    const child = new ChildRun({ scope, start, earlier, isInterrupted, onWaiting });
    this.#children.set(start.agent_run_id, child);
    if (!child.isOver) {
      const { tokens, cost, calls } = start.budget;
      const used = spentIn(earlier.map(({ payload }) => payload));
      this.#budgets.set(start.agent_run_id, scope.budget.reserve({ tokens, cost, calls }, used));
    }
    return child;
  }

  #startChild(child: ChildRun): ChildRun {
    if (child.isOver || child.isWorking) return child;
    const budget = this.#budgets.get(child.start.agent_run_id)!;
    void child.run(this.#player(child, budget), () => {
      if (!child.isWaiting) budget.close();
      const { usage, cost } = child.spentHere();
      this.scope.addUsage(usage, cost);
    });
    return child;
  }

  /** Whether the sub-agents must stop as after a crash of the process. */
  get #isInterrupted(): boolean {
    const { signal, harness } = this.scope;
    return (
      this.#isSuspending ||
      this.#closeReason === 'interrupted' ||
      signal.reason instanceof RunInterruption ||
      isClosed(harness)
    );
  }

  #checkDepth(): void {
    const { lineage, maxDepth } = this.#settings;
    // defence: depth-of-sub-agents
    if (lineage.depth < maxDepth) return;
    throw agentRefusal(
      `Sub-agents may be nested ${maxDepth} levels deep (maxDepth), and this one is at level ${lineage.depth}. Do the work here.`,
    );
  }

  async #open(slug: string): Promise<OpenedSubAgent> {
    const { agent, provider } = this.scope;
    if (slug === agent.slug) return { agent, provider };
    const { openAgent } = this.#settings;
    if (openAgent === undefined)
      throw agentRefusal(
        `This host cannot launch the agent ${JSON.stringify(slug)}. Omit agent to launch ${agent.slug}.`,
      );
    try {
      return await openAgent(slug, this.scope);
    } catch (error) {
      throw agentRefusal(error instanceof Error ? error.message : String(error));
    }
  }

  #agentStart(
    { agent, task, tools, budget: asked = {}, schema, ...named }: Launch & { agent: string },
    { callId, scriptId, idempotencyKey, hasUntrustedInput }: LaunchingCall,
    { isDetached, opened, files }: { isDetached: boolean; opened: OpenedSubAgent; files: readonly string[] },
  ): AgentStart {
    const { scope, lineage } = this.#settings;
    const { tokenBudget, costBudget } = opened.agent;
    const prices = opened.agent.prices ?? modelFacts(opened.provider.model).prices;
    const own = agent === scope.agent.slug ? {} : { tokens: tokenBudget, cost: costBudget };
    const budget = dividedBudget(scope.budget, { ...asked, ...smallest(asked, own, scope.budget) });
    if (budget.cost !== undefined && prices === undefined)
      throw agentRefusal(
        `The agent ${agent} has no prices, so its cost cannot be limited. Launch another agent. The host can set prices in the agent's file.`,
      );
    const fileKeys = namedFileKeys(named);
    // Files may contain what others have written.
    const isUntrusted = fileKeys.length > 0 || hasUntrustedInput?.() === true;
    const endsAt = asked.timeMs === undefined ? lineage.endsAt : earlier(Date.now() + asked.timeMs, lineage.endsAt);
    return {
      type: 'agent_start',
      agent_run_id: newId('run'),
      call_id: callId,
      script_id: scriptId,
      schema,
      key: idempotencyKey,
      agent,
      task,
      ...(fileKeys.length === 0 ? {} : { file_keys: fileKeys, files_sha256: filesHash(files) }),
      tools: this.#toolsFor(tools, opened.agent),
      ...(isUntrusted ? { untrusted: true } : {}),
      depth: lineage.depth + 1,
      detached: isDetached,
      budget: present({ ...budget, ends_at: endsAt }),
    };
  }

  /** The tools of a sub-agent: never more than those of the parent. */
  #toolsFor(asked: readonly string[] | undefined, agent: AgentConfig): string[] {
    const own = this.scope.harness.tools().map(({ name }) => name);
    const missing = asked?.find((name) => !own.includes(name));
    // defence: tools-within-those-of-the-parent
    if (missing !== undefined)
      throw agentRefusal(
        `A sub-agent may have only tools of the run that launches it, and this run has no tool ${JSON.stringify(missing)}.${didYouMean(missing, own) || ' catalog.list() lists the tools of this run.'}`,
      );
    const limit = agent.slug === this.scope.agent.slug ? undefined : agent.tools;
    return own.filter((name) => (asked ?? limit ?? own).includes(name) && (limit?.includes(name) ?? true));
  }

  #player(child: ChildRun, budget: RunBudget): ChildPlayer {
    const { start, identity } = child;
    const { runId, threadId, turnId } = identity;
    const input = () => this.#startInput(start);
    const { storeIsWhole, decisions } = this.scope;
    const common = (signal: AbortSignal) => this.#optionsFor(start, budget, signal);
    const names = { runId, threadId, turnId };
    return {
      begin: async function* (signal) {
        yield* runAgent({ ...(await common(signal)), ...names, input: await input() });
      },
      // `force`: the process that continues the parent also owns the sub-agents of the parent.
      continue: async function* (events, signal) {
        yield* recoverRun({ ...(await common(signal)), events, force: true, storeIsWhole });
      },
      resume: async function* (events, signal) {
        yield* resumeRun({ ...(await common(signal)), events, decisions: decisionsFor(events, decisions) });
      },
    };
  }

  async #startInput(start: AgentStart): Promise<MessageItem[]> {
    const { file_keys: fileKeys = [], files_sha256: hash, task, untrusted } = start;
    const files = await this.#fileBlocks(fileKeys);
    // defence: sub-agents-read-the-launched-texts
    if (hash !== undefined && hash !== filesHash(files))
      throw agentRefusal('A file of this sub-agent was changed after the launch. Launch the sub-agent again.');
    const content = [...files, task].join('\n\n');
    return [{ type: 'message', id: newId('item'), role: 'user', content, ...present({ untrusted }) }];
  }

  #fileBlocks(fileKeys: readonly string[], { covers }: Pick<LaunchingCall, 'covers'> = {}): Promise<string[]> {
    const { options, identity } = this.scope;
    const { app, principal } = options;
    return readFiles(fileKeys, this.#settings.documentText, { app, principal, threadId: identity.threadId, covers });
  }

  async #optionsFor(start: AgentStart, budget: RunBudget, signal: AbortSignal) {
    const { scope, lineage, openChild } = this.#settings;
    const { mode, loadImage, options } = scope;
    const path = [...lineage.path, start.agent];
    const below = { depth: start.depth, count: lineage.count, endsAt: start.budget.ends_at, path };
    const subAgents: SubAgentHost = {
      budget,
      parentRunId: scope.identity.runId,
      rootRunId: scope.identity.rootRunId ?? scope.identity.runId,
      path,
      open: (ofChild) => openChild(ofChild, below),
    };
    return {
      ...options,
      ...(await this.#open(start.agent)),
      outputSchema: start.schema,
      harness: scope.harness.narrowed(start.tools),
      mode,
      approvals: this.#mayWait ? options.approvals : decidedNow(options.approvals ?? scope.harness.approvals),
      signal,
      subAgents,
      flushEvents: () => scope.flush(),
      ...present({ loadImage }),
    };
  }

  /**
   * Whether the run can be suspended for its sub-agents. A suspension needs a store, from which the run's scripts are
   * recovered.
   */
  get #mayWait(): boolean {
    return this.#settings.waitsForDecisions && this.scope.harness.hasStore;
  }

  /**
   * Waits until all running calls of the run wait for suspended sub-agents, then suspends the run. Any other running
   * call must not be interrupted, because its outcome would be unknown.
   */
  #watch(): void {
    this.#watching ??= setInterval(() => {
      const blocked = [...this.#awaitedAgents.values()].filter((child) => child.isWaiting).length;
      const calls = this.scope.runningCalls();
      if (this.#isInterrupted) clearInterval(this.#watching);
      else if (blocked > 0 && blocked === calls) this.#suspend();
    }, WATCH_MS);
  }

  #suspend(): void {
    clearInterval(this.#watching);
    this.#isSuspending = true;
    this.scope.suspend([...this.#children.values()].flatMap(({ approvalIds }) => approvalIds));
  }
}

/** The interval in ms at which a run checks whether it waits only for decisions about its sub-agents. */
const WATCH_MS = 20;

/** The decisions about the approvals that a suspended run waits for. */
function decisionsFor(events: readonly StreamEvent[], decisions: AgentScope['decisions']): AgentScope['decisions'] {
  const last = events.at(-1)?.payload;
  const ids = last?.type === 'response_done' ? (last.approval_ids ?? []) : [];
  return Object.fromEntries(Object.entries(decisions).filter(([id]) => ids.includes(id)));
}

/** The smaller of what a launch requests and the agent's own budget, which is at most the rest of the parent's budget. */
function smallest(asked: AskedBudget, own: AskedBudget, parent: RunBudget): AskedBudget {
  const least = (figure: 'tokens' | 'cost'): number | undefined => {
    const limit = own[figure];
    if (limit === undefined) return asked[figure];
    // defence: own-budget-of-an-agent
    return Math.min(limit, asked[figure] ?? parent.left(figure));
  };
  return { tokens: least('tokens'), cost: least('cost') };
}

function earlier(first: number, second: number | undefined): number {
  return second === undefined ? first : Math.min(first, second);
}

function isClosed(harness: AgentScope['harness']): boolean {
  try {
    harness.assertOpen();
    return false;
  } catch {
    return true;
  }
}

/** The sub-agents that appear in stored events, each with its own events. */
function startedIn(events: readonly StreamEvent[]): [AgentStart, StreamEvent[]][] {
  const started = new Map<string, [AgentStart, StreamEvent[]]>();
  for (const event of events) {
    const { payload } = event;
    if (payload.type === 'agent_start') started.set(payload.agent_run_id, [payload, []]);
    const own = subAgentEvent(event);
    if (own !== undefined) started.get(own.run_id)?.[1].push(own);
  }
  return [...started.values()];
}

/** The number of sub-agents that appear in stored events, at all levels. */
export function countStartedAgents(events: readonly StreamEvent[]): number {
  const count = (payload: { type: string; event?: unknown }): number => {
    if (payload.type === 'agent_event') return count(payload.event as { type: string });
    return payload.type === 'agent_start' ? 1 : 0;
  };
  return events.reduce((sum, { payload }) => sum + count(payload), 0);
}

function filesHash(files: readonly string[]): string {
  return sha256(files.join('\n'));
}

import {
  FINAL_RUN_STATES,
  RunReasonSchema,
  type EventPayload,
  type Run,
  type StreamEvent,
} from '@toolscript/core/protocol';
import { subAgentEvent } from '@toolscript/core/stream';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { OpenedAgent, RunObserver, WorkEnd } from '@toolscript/service';

/** Maximum number of tool names that are used as labels. Further names count as `other`. */
const MAX_TOOLS = 200;

const OTHER = 'other';

/** Buckets in s, from the duration of a read in memory to the duration of a build. */
const WORK_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Buckets in s, from an approval that a rule decides to an approval that waits for a week. */
const WAIT_BUCKETS = [1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400, 604_800];

const WRITE_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

const ABANDONED = ['draining', 'lost', 'write-failed', 'parked'] as const;

/** The metrics of this process's runs. No label contains text of users, models or scripts. */
export class RunMetrics {
  readonly claimed: Counter<'reason'>;
  readonly ended: Counter<'state'>;
  readonly lost: Counter<'cause'>;
  readonly scripts: Counter<'outcome' | 'error'>;
  readonly scriptSeconds: Histogram<'outcome'>;
  readonly toolSeconds: Histogram<'tool' | 'status'>;
  readonly approvals: Counter<'decision' | 'by'>;
  readonly approvalWait: Histogram<'decision'>;
  readonly tokens: Counter<'type'>;
  readonly subAgents: Counter<'depth'>;
  readonly writeSeconds: Histogram<'store'>;
  readonly #tools = new Set<string>();

  constructor(registry: Registry) {
    const registers = [registry];
    const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
      new Counter({ name, help, labelNames, registers });
    const histogram = <Label extends string>(name: string, help: string, labelNames: Label[], buckets: number[]) =>
      new Histogram({ name, help, labelNames, buckets, registers });
    this.claimed = counter(
      'toolscript_runs_claimed_total',
      'Claims of runs by this process, by reason: new, resumed, interrupted.',
      ['reason'],
    );
    this.ended = counter('toolscript_runs_ended_total', 'Runs that this process has ended, by state.', ['state']);
    this.lost = counter(
      'toolscript_runs_left_total',
      `Runs that this process abandoned before their end, by cause: ${ABANDONED.join(', ')}.`,
      ['cause'],
    );
    this.scripts = counter(
      'toolscript_scripts_total',
      'Scripts that ended or were suspended, by outcome and error code.',
      ['outcome', 'error'],
    );
    this.scriptSeconds = histogram(
      'toolscript_script_duration_seconds',
      'Wall time of scripts, including their waits, by outcome.',
      ['outcome'],
      WORK_BUCKETS,
    );
    this.toolSeconds = histogram(
      'toolscript_tool_duration_seconds',
      'Duration of calls, by tool and status.',
      ['tool', 'status'],
      WORK_BUCKETS,
    );
    this.approvals = counter('toolscript_approvals_total', 'Decided approvals, by decision and by whom.', [
      'decision',
      'by',
    ]);
    this.approvalWait = histogram(
      'toolscript_approval_wait_seconds',
      'Time from the request for an approval to its decision, by decision.',
      ['decision'],
      WAIT_BUCKETS,
    );
    this.tokens = counter('toolscript_model_tokens_total', 'Tokens that models have used, by type: input, output.', [
      'type',
    ]);
    this.subAgents = counter('toolscript_sub_agents_total', 'Sub-agents that were launched, by depth.', ['depth']);
    this.writeSeconds = histogram(
      'toolscript_event_write_seconds',
      'Time to write a batch of events, by store: log, threads.',
      ['store'],
      WRITE_BUCKETS,
    );
    this.#startAtZero();
  }

  /** Prometheus sees no increase in a counter that appears with its first value, so counters start at 0. */
  #startAtZero(): void {
    for (const reason of RunReasonSchema.options) this.claimed.inc({ reason }, 0);
    for (const state of FINAL_RUN_STATES) this.ended.inc({ state }, 0);
    for (const cause of ABANDONED) this.lost.inc({ cause }, 0);
  }

  observe(run: Run, earlier: readonly StreamEvent[]): RunObserver {
    this.claimed.inc({ reason: run.reason });
    return new MeasuredRun(this, earlier);
  }

  /**
   * The label of a tool: `name`, or `other` after the maximum number of names. Names come from the host's tools, never
   * from a script.
   */
  toolLabel(name: string): string {
    if (this.#tools.has(name)) return name;
    if (this.#tools.size >= MAX_TOOLS) return OTHER;
    this.#tools.add(name);
    return name;
  }
}

class MeasuredRun implements RunObserver {
  readonly #metrics: RunMetrics;
  /** The time of each approval request in ms since 1970, by approval id. */
  readonly #askedAt = new Map<string, number>();
  #tools: ReadonlySet<string> = new Set();

  constructor(metrics: RunMetrics, earlier: readonly StreamEvent[]) {
    this.#metrics = metrics;
    for (const event of earlier) this.#noteRequest(event);
  }

  agentOpened({ harness }: OpenedAgent): void {
    this.#tools = new Set(harness.tools().map(({ name }) => name));
  }

  event(event: StreamEvent): void {
    const ofSubAgent = subAgentEvent(event);
    if (ofSubAgent !== undefined) return this.#eventOfSubAgent(ofSubAgent);
    const { payload, timestamp } = event;
    switch (payload.type) {
      case 'agent_start':
        return this.#metrics.subAgents.inc({ depth: String(payload.depth) });
      case 'item_done':
        return this.#itemDone(payload);
      case 'item_update':
        if (payload.changes.status === 'suspended') this.#metrics.scripts.inc({ outcome: 'suspended', error: '' });
        return;
      case 'tool_call_done':
        return this.#callDone(payload);
      case 'approval_requested':
        return this.#noteRequest(event);
      case 'approval_resolved':
        return this.#countDecision(payload, timestamp);
      case 'response_done':
        this.#metrics.tokens.inc({ type: 'input' }, payload.usage?.input_tokens ?? 0);
        return this.#metrics.tokens.inc({ type: 'output' }, payload.usage?.output_tokens ?? 0);
    }
  }

  /**
   * Ignores the end of a sub-agent's response, because the usage of the whole run includes the tokens of its
   * sub-agents.
   */
  #eventOfSubAgent(event: StreamEvent): void {
    if (event.payload.type !== 'response_done') this.event(event);
  }

  eventsWritten(store: 'log' | 'threads', seconds: number): void {
    this.#metrics.writeSeconds.observe({ store }, seconds);
  }

  workEnded(how: WorkEnd): void {
    switch (how) {
      case 'lost':
      case 'write-failed':
      case 'draining':
      case 'parked':
        return this.#metrics.lost.inc({ cause: how });
      case 'suspended':
        return;
      default:
        return this.#metrics.ended.inc({ state: how });
    }
  }

  #itemDone({ final_item: item }: Extract<EventPayload, { type: 'item_done' }>): void {
    if (item.type !== 'script_execution_output') return;
    const { status: outcome, error, metadata } = item;
    this.#metrics.scripts.inc({ outcome, error: error?.code ?? '' });
    this.#metrics.scriptSeconds.observe({ outcome }, metadata.duration_ms / 1000);
  }

  #callDone({ operation }: Extract<EventPayload, { type: 'tool_call_done' }>): void {
    const { tool, status, duration_ms: ms } = operation;
    // defence: metrics-without-content
    const label = this.#tools.has(tool) ? this.#metrics.toolLabel(tool) : OTHER;
    this.#metrics.toolSeconds.observe({ tool: label, status }, ms / 1000);
  }

  #noteRequest({ payload }: StreamEvent): void {
    if (payload.type !== 'approval_requested') return;
    const { approval_id: id, created_at: at } = payload.approval;
    this.#askedAt.set(id, at);
  }

  #countDecision(payload: Extract<EventPayload, { type: 'approval_resolved' }>, at: number): void {
    const { approval_id: id, decision, by } = payload;
    this.#metrics.approvals.inc({ decision, by });
    const askedAt = this.#askedAt.get(id);
    if (askedAt !== undefined) this.#metrics.approvalWait.observe({ decision }, Math.max(0, at - askedAt) / 1000);
  }
}

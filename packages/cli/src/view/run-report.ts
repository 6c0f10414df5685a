import { billedTokens } from '@toolscript/core/agent';
import type { OutputItem, StreamEvent, Usage } from '@toolscript/core/protocol';
import type { Style } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { countWithNoun, shortDuration } from './values.js';

type ResponseDone = Extract<StreamEvent['payload'], { type: 'response_done' }>;

/** The statistics of an agent's run. */
export interface RunFigures {
  readonly answers: number;
  readonly durationMs: number;
  readonly usage: Usage | undefined;
  /** In US dollars; undefined without prices. */
  readonly cost: number | undefined;
}

/** Returns a line such as `3 answers · 12.3k tokens in (10.1k from the cache) · 532 out · $0.0123 · 4.2 s`. */
export function figuresLine({ answers, durationMs, usage, cost }: RunFigures, style: Style): string {
  const parts = [
    countWithNoun(answers, 'answer'),
    ...(usage === undefined ? [] : usageParts(usage)),
    ...(cost === undefined ? [] : [dollars(cost)]),
    shortDuration(durationMs),
  ];
  return style.dim(parts.join(' · '));
}

/** Says that the conversation was summarised, and how many tokens the model read of it before and after. */
export function summarised({
  tokens_before: before,
  tokens_after: after,
}: Extract<OutputItem, { type: 'compaction' }>): string {
  const sizes =
    before === undefined || after === undefined ? '' : `: ${tokens(before)} tokens before, ${tokens(after)} after`;
  return `… the conversation was summarised${sizes}`;
}

/** The figures of two pieces of work together. */
export function addFigures(one: RunFigures, other: RunFigures): RunFigures {
  return {
    answers: one.answers + other.answers,
    durationMs: one.durationMs + other.durationMs,
    usage: addUsages(one.usage, other.usage),
    cost: one.cost === undefined && other.cost === undefined ? undefined : (one.cost ?? 0) + (other.cost ?? 0),
  };
}

function addUsages(one: Usage | undefined, other: Usage | undefined): Usage | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const [left, right] = [billedTokens(one), billedTokens(other)];
  return {
    input_tokens: inputTokens(left) + inputTokens(right),
    cache_read_tokens: left.cacheRead + right.cacheRead,
    output_tokens: left.output + right.output,
  };
}

function inputTokens({ fresh, cacheRead, cacheWrite }: ReturnType<typeof billedTokens>): number {
  return fresh + cacheRead + cacheWrite;
}

function usageParts(usage: Usage): string[] {
  const { fresh, cacheRead, cacheWrite, output } = billedTokens(usage);
  const cached = cacheRead > 0 ? ` (${tokens(cacheRead)} from the cache)` : '';
  return [`${tokens(fresh + cacheRead + cacheWrite)} tokens in${cached}`, `${tokens(output)} out`];
}

function tokens(count: number): string {
  return count < 10_000 ? String(count) : `${(count / 1_000).toFixed(1)}k`;
}

function dollars(cost: number): string {
  return `$${cost < 1 ? cost.toFixed(4) : cost.toFixed(2)}`;
}

const REASONS: Readonly<Record<string, string>> = {
  max_turns: 'it has reached its maximum number of answers (maxTurns of the agent)',
  token_budget: 'its token budget is used up (tokenBudget of the agent)',
  cost_budget: 'its cost budget is used up (costBudget of the agent)',
  max_output_tokens: 'its answer exceeded the maximum length (maxOutputTokens of the agent)',
  context_window: "the conversation exceeds the model's context window; start a new conversation",
  content_filter: 'the provider’s filter stopped it',
  refusal: 'the model refused',
};

/** Explains why a run ended without completing. Returns undefined if the run has completed or is suspended. */
export function endLine({ status, incomplete_reason: reason }: ResponseDone, style: Style): string | undefined {
  if (status === 'cancelled') return `${style.yellow('⊘')} stopped`;
  if (status !== 'incomplete') return undefined;
  const known = typeof reason === 'string' ? (REASONS[reason] ?? visibleLine(reason)) : 'for an unknown reason';
  return `${style.yellow('…')} ended early: ${known}`;
}

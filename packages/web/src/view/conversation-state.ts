import type { RunView, StoredRun } from './types.ts';

/** The present activity of a run, or its end. */
export type RunStage = 'waiting' | 'working' | 'queued' | 'done' | 'failed' | 'stopped' | 'incomplete';

/** The knowledge of the page about one run. */
export interface KnownRun {
  /** The run as the server has it; undefined if it was just submitted. */
  readonly stored?: Pick<StoredRun, 'status' | 'cancelRequestedAt'> | undefined;
  /** The events of the run; undefined if the page does not read them. */
  readonly view?: Pick<RunView, 'status' | 'startedAt'> | undefined;
}

const VIEW_STAGES: Readonly<Record<RunView['status'], RunStage>> = {
  in_progress: 'working',
  suspended: 'waiting',
  completed: 'done',
  failed: 'failed',
  cancelled: 'stopped',
  incomplete: 'incomplete',
};

/** The stage of a run. Its events are newer than what the server has listed. */
export function runStage({ stored, view }: KnownRun): RunStage {
  if (view?.startedAt !== undefined) return VIEW_STAGES[view.status];
  const { status = 'queued', cancelRequestedAt } = stored ?? {};
  // The run ends when a worker takes it up; nothing of it begins.
  if (status === 'queued') return cancelRequestedAt === undefined ? 'queued' : 'stopped';
  return VIEW_STAGES[status === 'running' ? 'in_progress' : status];
}

/** The stages of runs that have not ended, in the order in which they matter to the user. */
const ACTIVE: readonly RunStage[] = ['waiting', 'working', 'queued'];

/**
 * The state of a conversation, from the stages of all its runs, oldest first: a call that waits for the user matters
 * most, then a run that works, then the queue, then the end of the newest run.
 */
export function conversationState(stages: readonly RunStage[]): RunStage | undefined {
  return ACTIVE.find((stage) => stages.includes(stage)) ?? stages.at(-1);
}

/** The index of the run that Stop ends: the one that works, or else one that waits, or else one in the queue. */
export function stoppedRun(stages: readonly RunStage[]): number | undefined {
  const stage = (['working', 'waiting', 'queued'] as const).find((each) => stages.includes(each));
  return stage === undefined ? undefined : stages.indexOf(stage);
}

/** The words for a state, and the state of its dot. */
export const STAGE_TEXTS: Readonly<Record<RunStage, string>> = {
  waiting: 'Waiting for you',
  working: 'Working',
  queued: 'Queued',
  done: 'Done',
  failed: 'Failed',
  stopped: 'Stopped',
  incomplete: 'Incomplete',
};

interface ListedThread {
  readonly activeState?: 'queued' | 'running' | 'suspended' | undefined;
  readonly lastState?: StoredRun['status'] | undefined;
}

/** The state of a listed conversation; undefined if it has no runs. `isWaiting`: the user must decide about a call. */
export function listedState({ activeState, lastState }: ListedThread, isWaiting: boolean): RunStage | undefined {
  if (isWaiting) return 'waiting';
  const status = activeState ?? lastState;
  return status === undefined ? undefined : runStage({ stored: { status } });
}

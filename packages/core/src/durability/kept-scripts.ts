import type {
  ApprovalRequest,
  HarnessStore,
  JournalContent,
  ListQuery,
  LogEntry,
  Operation,
  PlannedCall,
  ListedScript,
  StoredState,
  WaitingApproval,
} from '../protocol/index.js';
import { journalState, type JournalState } from './journal-lines.js';
import type { DurabilityServices } from './services.js';
import { SealError } from './suspension-envelope.js';
import { openSuspension, waitingApprovals } from './suspensions.js';

/**
 * Where a kept script stands. `running`: a living process goes on with it. `interrupted`: its process ended;
 * `recover` goes on with it. `damaged`: what is kept of it cannot be read, and nobody can go on with it.
 */
export type KeptState = StoredState;

/** A script of a store, as a list shows it. */
export interface KeptScript extends ListedScript {
  /** What it waits for, where it is suspended. */
  approvals: readonly WaitingApproval[];
}

/** Everything of a kept script that a person may want to see before deciding. Of a damaged one, what can be read. */
export interface KeptScriptDetails extends KeptScript {
  source: string;
  principal: string | undefined;
  startedAtMs: number;
  plan: readonly PlannedCall[];
  /** In call order. */
  operations: Operation[];
  /** Of a suspended script. */
  pendingApprovals: readonly ApprovalRequest[];
  logs: readonly LogEntry[];
  output: string;
  /** What `resume` takes. */
  suspension?: string;
  /** Why not all of it can be shown. */
  problem?: string;
}

/** The scripts of a store, oldest change first. Needs no key. */
export async function listScripts(store: HarnessStore, query: ListQuery = {}): Promise<KeptScript[]> {
  const { scripts } = await store.journal.list(query);
  // Taken, and never written to: nothing has happened.
  return scripts.filter(({ bytes }) => bytes > 0).map((script) => ({ ...script, approvals: script.approvals ?? [] }));
}

/** Undefined where there is no such script. */
export async function inspectScript(
  parts: DurabilityServices,
  scriptId: string,
): Promise<KeptScriptDetails | undefined> {
  const store = parts.keeping?.leases.store;
  const content = await store?.journal.read(scriptId);
  if (store === undefined || content === undefined) return undefined;
  const story = journalState(content);
  const claim = await store.claim.current(scriptId);
  const known = knownOf(parts, story);
  const problem =
    content.damage?.message ?? known.problem ?? (story === undefined ? 'its start is missing' : undefined);
  return {
    scriptId,
    state: stateOf(content, story, claim?.isHeld === true),
    approvals: waitingApprovals(known.pendingApprovals, story?.decisions),
    ...(story?.ended === undefined ? {} : { ended: endOf(story.ended) }),
    updatedAtMs: story?.updatedAtMs ?? 0,
    bytes: content.lines.reduce((sum, line) => sum + line.length, 0),
    source: story?.script.start.script.source ?? '',
    principal: story?.script.start.principal,
    startedAtMs: story?.startedAtMs ?? 0,
    plan: story?.script.start.script.plan ?? [],
    ...known,
    ...(problem === undefined ? {} : { problem }),
  };
}

function stateOf({ damage }: JournalContent, story: JournalState | undefined, isHeld: boolean): KeptState {
  if (damage !== undefined || story === undefined) return 'damaged';
  if (story.ended !== undefined) return 'ended';
  if (story.suspension !== undefined && !story.isResumed) return 'suspended';
  return isHeld ? 'running' : 'interrupted';
}

function endOf({ status, code, message }: NonNullable<JournalState['ended']>): NonNullable<KeptScript['ended']> {
  return { status, ...(code === undefined ? {} : { code }), ...(message === undefined ? {} : { message }) };
}

export interface PruneOptions {
  /** Scripts that ended longer ago than this are forgotten. In ms; default 7 days. */
  endedAfterMs?: number;
  /** Scripts that nobody has decided about, or gone on with, for this long. In ms; default: never. */
  waitingAfterMs?: number;
  /** Default: now, in ms since 1970. */
  nowMs?: number;
}

const DAY_MS = 86_400_000;

/** Scripts of a list that are looked at together. */
const PAGE = 100;

/** Forgets what is old, and the engines and images that no suspension names any more. Gives what was forgotten. */
export async function pruneScripts(
  store: HarnessStore,
  { endedAfterMs = 7 * DAY_MS, waitingAfterMs = Number.POSITIVE_INFINITY, nowMs = Date.now() }: PruneOptions = {},
): Promise<{ scripts: string[]; images: string[] }> {
  // A script that is put aside at this very moment may lose its image; it goes along its tape then.
  const images = new Set(await store.images.list());
  const scripts = [
    ...(await forgetOlder(store, 'ended', nowMs - endedAfterMs)),
    ...(await forgetOlder(store, 'suspended', nowMs - waitingAfterMs)),
    ...(await forgetOlder(store, 'interrupted', nowMs - waitingAfterMs)),
  ];
  await withoutNeeded(store, images);
  for (const name of images) await store.images.delete(name);
  return { scripts, images: [...images] };
}

async function forgetOlder(store: HarnessStore, state: StoredState, thanMs: number): Promise<string[]> {
  const gone: string[] = [];
  if (thanMs < 0) return gone;
  for (;;) {
    const { scripts, next } = await store.journal.list({ state, limit: PAGE });
    const old = scripts.filter(({ updatedAtMs }) => updatedAtMs < thanMs);
    for (const { scriptId } of old) {
      await store.journal.delete(scriptId);
      gone.push(scriptId);
    }
    if (old.length < scripts.length || next === undefined) return gone;
  }
}

/** Takes away those that a script needs. Ends as soon as none is left, which is soon where nothing is to be forgotten. */
async function withoutNeeded(store: HarnessStore, images: Set<string>): Promise<void> {
  let after: string | undefined;
  while (images.size > 0) {
    const query = { state: 'suspended' as const, limit: PAGE, ...(after === undefined ? {} : { after }) };
    const { scripts, next } = await store.journal.list(query);
    for (const script of scripts) for (const name of script.images ?? []) images.delete(name);
    if (next === undefined) return;
    after = next;
  }
}

interface Known extends Pick<
  KeptScriptDetails,
  'operations' | 'pendingApprovals' | 'logs' | 'output' | 'suspension' | 'problem'
> {}

function knownOf(parts: DurabilityServices, story: JournalState | undefined): Known {
  if (story === undefined) return { operations: [], pendingApprovals: [], logs: [], output: '' };
  const { suspension } = story;
  if (story.isSuspensionLost) return { ...ofTape(story), problem: 'what it waits for can no longer be read' };
  if (suspension === undefined || story.ended !== undefined) return ofTape(story);
  try {
    const { suspension: text, pendingApprovals, ...known } = ofSuspension(parts, suspension, story.script);
    return story.isResumed ? { ...known, pendingApprovals: [] } : { ...known, pendingApprovals, suspension: text };
  } catch (error) {
    if (error instanceof SealError) return { ...ofTape(story), problem: error.message };
    throw error;
  }
}

function ofSuspension(parts: DurabilityServices, suspension: string, written: JournalState['script']): Known {
  const { script } = openSuspension(parts, suspension);
  const { waiting } = script.calls;
  // Detached tasks end while their script is suspended.
  const endedSince = new Map(written.ended.map((call) => [call.callIndex, call]));
  const ended = script.calls.ended.map((call) =>
    call.operation.status === 'detached' ? (endedSince.get(call.callIndex) ?? call) : call,
  );
  const waitingNow = waiting.map(({ callIndex, callId, tool, effect, inputJson, startedAtMs, line }) => ({
    callIndex,
    operation: {
      callId,
      tool,
      effect,
      input: JSON.parse(inputJson) as unknown,
      status: 'awaiting_approval' as const,
      startedAtMs,
      durationMs: 0,
      ...(line === undefined ? {} : { line }),
    },
  }));
  return {
    operations: inCallOrder([...ended, ...waitingNow]),
    pendingApprovals: waiting.map(({ request }) => request),
    logs: script.voice.logs,
    output: script.voice.output,
    suspension,
  };
}

function ofTape({ script }: JournalState): Known {
  return { operations: inCallOrder([...script.ended, ...script.unknown]), pendingApprovals: [], logs: [], output: '' };
}

function inCallOrder(calls: readonly { callIndex: number; operation: Operation }[]): Operation[] {
  return calls.toSorted((left, right) => left.callIndex - right.callIndex).map(({ operation }) => operation);
}

import type {
  ApprovalRequest,
  HarnessStore,
  JsonValue,
  JournalContent,
  JournalStore,
  ListQuery,
  LogEntry,
  Operation,
  PlannedCall,
  ListedScript,
  StoredState,
  WaitingApproval,
} from '../../protocol/index.js';
import { PASSING_THREADS, StoreUnavailableError } from '../../protocol/index.js';
import { inCallOrder } from '../../calls/facade/index.js';
import { journalState, storedCall, type JournalState } from './journal-lines.js';
import { storeFailure, type DurabilityServices } from './services.js';
import { SealError } from './suspension-envelope.js';
import { openSuspension, waitingApprovals } from './suspensions.js';

/** A stored script, as a list shows it. */
export interface KeptScript extends ListedScript {
  /** The pending approvals of a suspended script. */
  approvals: readonly WaitingApproval[];
}

/**
 * The details of a stored script that a user may need for a decision. If the script is damaged, only the readable
 * details are present.
 */
export interface KeptScriptDetails extends KeptScript {
  source: string;
  /** The structured call that the script makes. Undefined: the model wrote the script. */
  call?: { readonly callId: string; readonly name: string; readonly input: JsonValue } | undefined;
  principal: string | undefined;
  startedAtMs: number;
  plan: readonly PlannedCall[];
  /** The operations in call order. */
  operations: Operation[];
  /** The pending approvals of a suspended script; otherwise empty. */
  pendingApprovals: readonly ApprovalRequest[];
  logs: readonly LogEntry[];
  output: string;
  /** The suspension, for `resume`. */
  suspension?: string | undefined;
  /** The reason why some details are missing. */
  problem?: string | undefined;
}

/**
 * Returns the scripts of a store, with the oldest change first. The function needs no suspension key.
 *
 * @example
 *
 * ```ts
 * for (const { scriptId, approvals } of await listScripts(store, { state: 'suspended' }))
 *   console.log(scriptId, approvals.map(({ tool }) => tool));
 * ```
 */
export async function listScripts(store: HarnessStore, query: ListQuery = {}): Promise<KeptScript[]> {
  const { scripts } = await store.journal.list(query);
  // A script without bytes was claimed but never written, so it has made no call with effects.
  return scripts.filter(({ bytes }) => bytes > 0).map((script) => ({ ...script, approvals: script.approvals ?? [] }));
}

/** Returns the details of a stored script; undefined if there is no such script. */
export async function inspectScript(
  services: DurabilityServices,
  scriptId: string,
): Promise<KeptScriptDetails | undefined> {
  const store = services.keeping?.leases.store;
  const stored = store && (await readScript(store, scriptId));
  if (stored === undefined) return undefined;
  const { content, recorded, state } = stored;
  const known = recordedDetails(services, recorded);
  const problem =
    content.damage?.message ?? known.problem ?? (recorded === undefined ? 'its start is missing' : undefined);
  return {
    scriptId,
    state,
    approvals: waitingApprovals(known.pendingApprovals, recorded?.decisions),
    ...(recorded?.ended === undefined ? {} : { ended: keptScriptEnd(recorded.ended) }),
    updatedAtMs: recorded?.updatedAtMs ?? 0,
    bytes: content.lines.reduce((sum, line) => sum + line.length, 0),
    source: recorded?.script.start.script.source ?? '',
    ...(recorded?.callId === undefined
      ? {}
      : { call: { callId: recorded.callId, ...storedCall(recorded.script.start) } }),
    principal: recorded?.script.start.principal,
    startedAtMs: recorded?.startedAtMs ?? 0,
    plan: recorded?.script.start.script.plan ?? [],
    ...known,
    ...(problem === undefined ? {} : { problem }),
  };
}

/**
 * Reads a script and its claim. A script that ends between the two reads is no longer held, and would look interrupted:
 * only a script whose lines have stayed the same is.
 */
export async function readScript({ journal, claim }: HarnessStore, scriptId: string) {
  for (let linesBefore: number | undefined; ;) {
    const content = await journal.read(scriptId);
    if (content === undefined) return undefined;
    const recorded = journalState(content);
    const isHeld = (await claim.current(scriptId))?.isHeld === true;
    const state = storedState(content, recorded, isHeld);
    if (state !== 'interrupted' || content.lines.length === linesBefore) return { content, recorded, state };
    linesBefore = content.lines.length;
  }
}

function storedState({ damage }: JournalContent, recorded: JournalState | undefined, isHeld: boolean): StoredState {
  if (damage !== undefined || recorded === undefined) return 'damaged';
  if (recorded.ended !== undefined) return 'ended';
  if (recorded.suspension !== undefined && !recorded.isResumed) return 'suspended';
  return isHeld ? 'running' : 'interrupted';
}

function keptScriptEnd({
  status,
  code,
  message,
}: NonNullable<JournalState['ended']>): NonNullable<KeptScript['ended']> {
  return { status, code, message };
}

/** Options of `pruneScripts`. */
export interface PruneOptions {
  /** The time in ms after which an ended script is deleted. Default: 7 days. */
  endedAfterMs?: number | undefined;
  /**
   * The time in ms without a decision or a resume after which a script that has not ended is deleted. Default: never.
   */
  waitingAfterMs?: number | undefined;
  /**
   * The time in ms after which a heap that belongs to no conversation is deleted. A session of a gateway whose scripts
   * have all ended is deleted at this time after the last one. Default: 30 days.
   */
  heapsAfterMs?: number | undefined;
  /** The current time, in ms since 1970. Default: the system time. */
  nowMs?: number | undefined;
}

const DAY_MS = 86_400_000;

/** The number of scripts that are listed at a time. */
const PAGE = 100;

/**
 * Deletes old scripts, and the engines and images that no suspension refers to. Returns the ids of the deleted scripts
 * and the names of the deleted images.
 *
 * @example
 *
 * ```ts
 * await pruneScripts(store, { endedAfterMs: 86_400_000, waitingAfterMs: 30 * 86_400_000 });
 * ```
 */
export async function pruneScripts(
  store: HarnessStore,
  options: PruneOptions = {},
): Promise<{ scripts: string[]; images: string[] }> {
  const {
    endedAfterMs = 7 * DAY_MS,
    waitingAfterMs = Infinity,
    heapsAfterMs = 30 * DAY_MS,
    nowMs = Date.now(),
  } = options;
  // A script that is being suspended at this moment may lose its image. The script is then replayed from its tape.
  const images = new Set(await store.images.list());
  const scripts = [
    ...(await deleteOlder(store, 'ended', nowMs - endedAfterMs)),
    ...(await deleteOlder(store, 'suspended', nowMs - waitingAfterMs)),
    ...(await deleteOlder(store, 'interrupted', nowMs - waitingAfterMs)),
  ];
  await removeNeededImages(store, images);
  await deleteOldHeaps(store, nowMs - heapsAfterMs);
  for (const name of (await store.heaps?.images()) ?? []) images.delete(name);
  for (const name of images) await store.images.delete(name);
  return { scripts, images: [...images] };
}

async function deleteOlder(store: HarnessStore, state: StoredState, thanMs: number): Promise<string[]> {
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

async function deleteOldHeaps({ heaps, journal }: HarnessStore, before: number): Promise<void> {
  await heaps?.collect({ before });
  for (const threadId of (await heaps?.oldThreads({ prefix: PASSING_THREADS, before })) ?? [])
    if (!(await hasOpenScript(journal, threadId))) await heaps?.deleteThread(threadId);
}

/** Whether a stored script of the conversation may continue, so that it needs its heap. */
export async function hasOpenScript(journal: JournalStore, threadId: string): Promise<boolean> {
  for (const state of ['running', 'suspended', 'interrupted'] as const)
    if ((await journal.list({ state, threadId, limit: 1 })).scripts.length > 0) return true;
  return false;
}

/** Deletes from the set the images that suspended scripts need. Stops as soon as the set is empty. */
async function removeNeededImages(store: HarnessStore, images: Set<string>): Promise<void> {
  let after: string | undefined;
  while (images.size > 0) {
    const query = { state: 'suspended' as const, limit: PAGE, after };
    const { scripts, next } = await store.journal.list(query);
    for (const script of scripts) for (const name of script.images ?? []) images.delete(name);
    if (next === undefined) return;
    after = next;
  }
}

/** Which scripts `scriptsOfRun` returns. */
export interface ScriptsOfRunOptions {
  readonly principal?: string | undefined;
  /** The ids of scripts to leave out. */
  readonly except?: ReadonlySet<string> | undefined;
}

/**
 * The scripts that the store links to a run, in order of their starts. Rejects with a `StoreUnavailableError` if the
 * store fails, because a process that does not know these scripts must not continue the run.
 */
export async function scriptsOfRun(
  services: DurabilityServices,
  runId: string,
  { principal, except = new Set() }: ScriptsOfRunOptions = {},
): Promise<readonly KeptScriptDetails[]> {
  const { keeping } = services;
  if (keeping === undefined) return [];
  try {
    const { scripts } = await keeping.leases.store.journal.list({ runId });
    const others = scripts.filter((script) => script.principal === principal && !except.has(script.scriptId));
    const found = await Promise.all(others.map(({ scriptId }) => inspectScript(services, scriptId)));
    return found.filter((script) => script !== undefined).toSorted((one, other) => one.startedAtMs - other.startedAtMs);
  } catch (error) {
    throw new StoreUnavailableError(storeFailure(error), { cause: error });
  }
}

interface RecordedDetails extends Pick<
  KeptScriptDetails,
  'operations' | 'pendingApprovals' | 'logs' | 'output' | 'suspension' | 'problem'
> {}

export function recordedDetails(services: DurabilityServices, recorded: JournalState | undefined): RecordedDetails {
  if (recorded === undefined) return { operations: [], pendingApprovals: [], logs: [], output: '' };
  const { suspension } = recorded;
  if (recorded.isSuspensionLost) return { ...ofTape(recorded), problem: 'its pending approvals can no longer be read' };
  if (suspension === undefined || recorded.ended !== undefined) return ofTape(recorded);
  try {
    const { suspension: text, pendingApprovals, ...known } = ofSuspension(services, suspension, recorded.script);
    return recorded.isResumed ? { ...known, pendingApprovals: [] } : { ...known, pendingApprovals, suspension: text };
  } catch (error) {
    if (error instanceof SealError) return { ...ofTape(recorded), problem: error.message };
    throw error;
  }
}

function ofSuspension(
  services: DurabilityServices,
  suspension: string,
  written: JournalState['script'],
): RecordedDetails {
  const { script } = openSuspension(services, suspension);
  const { waiting } = script.calls;
  // Detached tasks may end while their script is suspended.
  const endedSince = new Map(written.ended.map((operation) => [operation.callId, operation]));
  const ended = script.calls.ended.map((operation) =>
    operation.status === 'detached' ? (endedSince.get(operation.callId) ?? operation) : operation,
  );
  return {
    operations: inCallOrder([...ended, ...waiting.map(({ operation }) => operation)]),
    pendingApprovals: waiting.map(({ request }) => request),
    logs: script.voice.logs,
    output: script.voice.output,
    suspension,
  };
}

function ofTape({ script }: JournalState): RecordedDetails {
  return { operations: inCallOrder([...script.ended, ...script.unknown]), pendingApprovals: [], logs: [], output: '' };
}

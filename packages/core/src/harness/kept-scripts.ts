import type { ApprovalRequest, HarnessStore, LogEntry, Operation, PlannedCall } from '../protocol/index.js';
import { readStory, type JournalLine, type JournalStory, type WaitingApproval } from './journal-lines.js';
import type { RunnerParts } from './script-run.js';
import { readSuspensionHeader } from './suspension-envelope.js';
import { openSuspension } from './suspensions.js';

/**
 * Where a kept script stands. `running`: a living process goes on with it. `interrupted`: its process ended;
 * `recover` goes on with it. `damaged`: what is kept of it cannot be read.
 */
export type KeptState = 'suspended' | 'running' | 'interrupted' | 'ended' | 'damaged';

/** A script of a store, as a list shows it. */
export interface KeptScript {
  scriptId: string;
  state: KeptState;
  /** In ms since 1970. */
  updatedAtMs: number;
  bytes: number;
  /** What it waits for, where it is suspended. */
  approvals: readonly WaitingApproval[];
  /** How it ended, where it has. */
  ended?: { status: 'completed' | 'failed'; code?: string; message?: string };
}

/** Everything of a kept script that a person may want to see before deciding. */
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
}

/** The scripts of a store, oldest change first. Needs no key. */
export async function listScripts(store: HarnessStore): Promise<KeptScript[]> {
  const scripts: KeptScript[] = [];
  for (const { scriptId, updatedAtMs, bytes, lastLine } of await store.journal.list()) {
    // Taken, and never written to: nothing has happened.
    if (lastLine === '') continue;
    scripts.push({ scriptId, updatedAtMs, bytes, ...(await stateOf(store, scriptId, lastLine)) });
  }
  return scripts;
}

/** Undefined where there is no such script. Throws a `SealError` where its suspension does not open. */
export async function inspectScript(parts: RunnerParts, scriptId: string): Promise<KeptScriptDetails | undefined> {
  const { store } = parts;
  const lines = await store?.journal.read(scriptId);
  const story = lines === undefined ? undefined : readStory(lines);
  if (store === undefined || lines === undefined || story === undefined) return undefined;
  const about = await stateOf(store, scriptId, lines.at(-1)!);
  const { start } = story.script;
  const known = about.state === 'suspended' ? ofSuspension(parts, story.suspension!) : ofTape(story);
  return {
    scriptId,
    ...about,
    updatedAtMs: story.updatedAtMs,
    bytes: lines.reduce((sum, line) => sum + line.length, 0),
    source: start.script.source,
    principal: start.principal,
    startedAtMs: story.startedAtMs,
    plan: start.script.plan,
    ...known,
  };
}

export interface PruneOptions {
  /** Scripts that ended longer ago than this are forgotten. In ms; default 7 days. */
  endedAfterMs?: number;
  /** Scripts that nobody has decided about, or gone on with, for this long. In ms; default 90 days. */
  waitingAfterMs?: number;
  /** Default: now, in ms since 1970. */
  nowMs?: number;
}

const DAY_MS = 86_400_000;

/** Forgets what is old, and the engines and images that no suspension names any more. Gives what was forgotten. */
export async function pruneScripts(
  store: HarnessStore,
  { endedAfterMs = 7 * DAY_MS, waitingAfterMs = 90 * DAY_MS, nowMs = Date.now() }: PruneOptions = {},
): Promise<{ scripts: string[]; images: string[] }> {
  const gone = { scripts: [] as string[], images: [] as string[] };
  // A script that is put aside at this very moment may lose its image; it goes along its tape then.
  const images = await store.images.list();
  const needed = new Set<string>();
  for (const { scriptId, updatedAtMs, lastLine } of await store.journal.list()) {
    const { state } = await stateOf(store, scriptId, lastLine);
    const ageMs = nowMs - updatedAtMs;
    if (state !== 'running' && ageMs > (state === 'ended' ? endedAfterMs : waitingAfterMs)) {
      await store.journal.delete(scriptId);
      gone.scripts.push(scriptId);
    } else for (const name of await imagesOf(store, scriptId)) needed.add(name);
  }
  for (const name of images) {
    if (needed.has(name)) continue;
    await store.images.delete(name);
    gone.images.push(name);
  }
  return gone;
}

async function imagesOf(store: HarnessStore, scriptId: string): Promise<readonly string[]> {
  const lines = (await store.journal.read(scriptId)) ?? [];
  const last = lines.findLast((line) => line.startsWith('{"t":"suspended"'));
  const line = parsed(last ?? '');
  if (line === undefined || line === 'damaged' || line.t !== 'suspended') return [];
  try {
    return readSuspensionHeader(line.suspension).images;
  } catch {
    // Whatever it is, it needs no image that we know of.
    return [];
  }
}

async function stateOf(
  store: HarnessStore,
  scriptId: string,
  lastLine: string,
): Promise<Pick<KeptScript, 'state' | 'approvals' | 'ended'>> {
  const line = parsed(lastLine);
  if (line === 'damaged') return { state: 'damaged', approvals: [] };
  if (line?.t === 'ended') {
    const { status, code, message } = line;
    const why = { ...(code === undefined ? {} : { code }), ...(message === undefined ? {} : { message }) };
    return { state: 'ended', approvals: [], ended: { status, ...why } };
  }
  if (line?.t === 'suspended') return { state: 'suspended', approvals: line.approvals };
  const claim = await store.claim.current(scriptId);
  return { state: claim?.isHeld === true ? 'running' : 'interrupted', approvals: [] };
}

/** Undefined where nothing was written. */
function parsed(line: string): JournalLine | 'damaged' | undefined {
  if (line === '') return undefined;
  try {
    return JSON.parse(line) as JournalLine;
  } catch {
    return 'damaged';
  }
}

type Known = Pick<KeptScriptDetails, 'operations' | 'pendingApprovals' | 'logs' | 'output' | 'suspension'>;

function ofSuspension(parts: RunnerParts, suspension: string): Known {
  const { script } = openSuspension(parts, suspension);
  const { ended, waiting } = script.calls;
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

function ofTape({ script }: JournalStory): Known {
  return { operations: inCallOrder([...script.ended, ...script.unknown]), pendingApprovals: [], logs: [], output: '' };
}

function inCallOrder(calls: readonly { callIndex: number; operation: Operation }[]): Operation[] {
  return calls.toSorted((left, right) => left.callIndex - right.callIndex).map(({ operation }) => operation);
}

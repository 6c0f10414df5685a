import { join } from 'node:path';
import {
  isScriptId,
  type JournalContent,
  type ListQuery,
  type ScriptPage,
  type ScriptStatus,
  type ListedScript,
} from '../protocol/index.js';
import type { ClaimFiles, JournalFiles } from './script-files.js';
import { checksum, type JournalText } from './journal-text.js';
import {
  createFile,
  files,
  hasCode,
  folderNames,
  readSmall,
  removeFile,
  statFile,
  type PrivateFolder,
} from '../durable-files/private-folder.js';

/** The time in ms after a script's last change before a list repairs its entry in the index. */
const REPAIR_AFTER_MS = 60_000;

/** Number of files read concurrently. */
const AT_ONCE = 32;

type Content = JournalContent & { text: JournalText; bytes: number };

/** A script to list, and the function that loads its entry. */
interface Candidate {
  readonly scriptId: string;
  readonly updatedAtMs: number;
  /** Loads the entry; undefined if the script no longer exists. */
  look(): Promise<ListedScript | undefined>;
}

/** Lists the scripts of a file store, and repairs the index if a process died before it updated the index. */
export class ScriptLister {
  readonly #claims: ClaimFiles;
  readonly #journals: JournalFiles;
  readonly #index: StatusIndex;
  readonly #readContent: (scriptId: string) => Promise<Content>;

  constructor(
    claims: ClaimFiles,
    journals: JournalFiles,
    index: StatusIndex,
    contentOf: (scriptId: string) => Promise<Content>,
  ) {
    this.#claims = claims;
    this.#journals = journals;
    this.#index = index;
    this.#readContent = contentOf;
  }

  /** Copies a resting state from the journal to the index. */
  async rest(scriptId: string, status: ScriptStatus, updatedAtMs = Date.now()): Promise<void> {
    if (status.state === 'running') return;
    const { bytes } = await this.#journals.size(scriptId);
    await this.#index.rest({ ...status, scriptId, state: status.state, updatedAtMs, bytes });
  }

  async list({
    state,
    principal,
    threadId,
    runId,
    after = '',
    limit = Number.POSITIVE_INFINITY,
  }: ListQuery): Promise<ScriptPage> {
    const awake = await this.#awake();
    const scripts: ListedScript[] = [];
    let position = after;
    // If few scripts of a page match, the next reads are larger.
    for (let max = limit; ; max *= 4) {
      const part = await this.#after(position, max, state, awake);
      for (let start = 0; start < part.length; start += AT_ONCE) {
        const found = await Promise.all(part.slice(start, start + AT_ONCE).map((candidate) => candidate.look()));
        for (const [index, script] of found.entries()) {
          if (script === undefined || !fits(script, { state, principal, threadId, runId })) continue;
          scripts.push(script);
          if (scripts.length === limit) return { scripts, next: listPosition(part[start + index]!) };
        }
      }
      if (part.length < max) return { scripts };
      position = listPosition(part.at(-1)!);
    }
  }

  /** The scripts after a cursor, by time. Scripts known to be in another state are skipped. */
  async #after(
    after: string,
    max: number,
    state: ListQuery['state'],
    awake: readonly Candidate[],
  ): Promise<Candidate[]> {
    const states: RestingState[] =
      state === undefined || state === 'damaged' ? ['suspended', 'ended'] : isResting(state) ? [state] : [];
    const entries = await Promise.all(states.map((one) => this.#index.resting(one, after, max)));
    // A script that was claimed meanwhile has left the index of its state, and has its mark.
    const marked = states.length === 0 ? awake : [...awake, ...(await this.#awake(awake))];
    const known = new Set(marked.map(({ scriptId }) => scriptId));
    const resting = entries
      .flat()
      .filter(({ scriptId }) => !known.has(scriptId))
      .map((entry) => ({ ...entry, look: () => this.#resting(entry) }));
    const all = [...resting, ...marked.filter((candidate) => listPosition(candidate) > after)];
    if (states.length !== 1 || all.length > resting.length)
      all.sort((one, other) => (listPosition(one) < listPosition(other) ? -1 : 1));
    return all.slice(0, max);
  }

  /** The scripts marked as running, without the known ones, each with its state from the journal. */
  async #awake(known: readonly Candidate[] = []): Promise<Candidate[]> {
    const candidates: Candidate[] = [];
    const knownIds = new Set(known.map(({ scriptId }) => scriptId));
    for (const scriptId of await this.#index.runningIds()) {
      if (knownIds.has(scriptId)) continue;
      const script = await this.#look(scriptId);
      if (script !== undefined)
        candidates.push({ scriptId, updatedAtMs: script.updatedAtMs, look: async () => script });
    }
    return candidates;
  }

  async #resting(entry: IndexEntry): Promise<ListedScript | undefined> {
    const [record, { bytes }] = await Promise.all([
      this.#index.statusRecord(entry),
      this.#journals.size(entry.scriptId),
    ]);
    // A journal of a different size has changed since the record was written.
    if (record?.bytes === bytes) return record;
    const script = await this.#look(entry.scriptId);
    if (script === undefined) await this.#index.drop(entry);
    return script;
  }

  /** The state according to the journal. Undefined if there is neither a claim nor a journal. */
  async #look(scriptId: string): Promise<ListedScript | undefined> {
    const epoch = await this.#claims.newestEpoch(scriptId);
    const claim = epoch === 0 ? undefined : await this.#claims.claim(scriptId, epoch);
    const { changedAtMs } = await this.#journals.size(scriptId);
    if (claim === undefined && changedAtMs === undefined) {
      await this.#index.dropStaleMark(scriptId);
      return undefined;
    }
    const updatedAtMs = changedAtMs ?? (await this.#claims.changedAtMs(scriptId, epoch)) ?? 0;
    const content = await this.#readContent(scriptId).catch(() => undefined);
    // The journal is a link or a folder, or the disk has failed. The list must still contain the other scripts.
    if (content === undefined) return { scriptId, state: 'damaged', updatedAtMs, bytes: 0 };
    const { text, damage, bytes } = content;
    const { state: said, ...status } = text.status ?? { state: 'running' as const };
    if (damage !== undefined) return { scriptId, ...status, state: 'damaged', updatedAtMs, bytes };
    const isHeld = claim?.isHeld === true;
    const isChanged = async () => (await this.#claims.newestEpoch(scriptId)) !== epoch;
    if (said === 'running') {
      // A process that claimed the script after its claim was read has not interrupted it.
      if (!isHeld && (await isChanged())) return this.#look(scriptId);
      return { scriptId, ...status, state: isHeld ? 'running' : 'interrupted', updatedAtMs, bytes };
    }
    // A script that has just changed is not repaired: its process may still update the index.
    if (!isHeld && Date.now() - updatedAtMs > REPAIR_AFTER_MS) {
      await this.rest(scriptId, { state: said, ...status }, updatedAtMs);
      // The mark of a process that claimed the script meanwhile is restored.
      if (await isChanged()) await this.#index.running(scriptId);
    }
    return { scriptId, ...status, state: said, updatedAtMs, bytes };
  }
}

function listPosition({ updatedAtMs, scriptId }: { updatedAtMs: number; scriptId: string }): string {
  return statusEntryName(updatedAtMs, scriptId);
}

export function fits(script: ListedScript, { state, principal, threadId, runId }: ListQuery): boolean {
  return (
    (state === undefined || script.state === state) &&
    (principal === undefined || script.principal === principal) &&
    (threadId === undefined || script.threadId === threadId) &&
    (runId === undefined || script.runId === runId)
  );
}

/** States in which a script changes only after a claim. */
export type RestingState = 'suspended' | 'ended';

function isResting(state: string): state is RestingState {
  return state === 'suspended' || state === 'ended';
}

/** The list entry of a resting script. */
export interface StatusRecord extends Omit<ScriptStatus, 'state'> {
  readonly scriptId: string;
  readonly state: RestingState;
  readonly updatedAtMs: number;
  readonly bytes: number;
}

/** A resting script, as its file name in the index identifies it. */
export interface IndexEntry {
  readonly scriptId: string;
  readonly state: RestingState;
  readonly updatedAtMs: number;
}

/** The digits of a time in base 36; nine digits suffice until the year 5188. */
const TIME_DIGITS = 9;

/** Age of a mark, in ms, after which no process is still about to claim the script. */
const STALE_MARK_MS = 3_600_000;

/**
 * An index that makes lists cheap. It is derived from the journal, which is authoritative:
 *
 *     status/running/<script>                   claimed, and not at rest since. Written before the claim takes effect
 *     status/suspended/<time>.<script>          the record of a suspended script; the name sorts by time
 *     status/ended/<time>.<script>
 *     claims/<script>/status                    a hard link to one of the two records above, to find its name
 *
 * A script under `running` may be at rest if its holder died between its last batch and the index update; a list checks
 * the journal of each such script. A script under `suspended` or `ended`, and not under `running`, is at rest.
 */
export class StatusIndex {
  readonly #folder: PrivateFolder;
  readonly #listings = new FolderListings();

  constructor(folder: PrivateFolder) {
    this.#folder = folder;
  }

  /**
   * Marks the script as running. Call this method before a claim, and again after it: a list may have removed the mark
   * when it repaired the index.
   */
  async running(scriptId: string): Promise<void> {
    const path = this.#folder.path('status', 'running', scriptId);
    await this.#folder.within(['status', 'running'], () => makeMark(path));
  }

  /** Marks the script as no longer at rest. Call this method after a successful claim. */
  async wake(scriptId: string): Promise<void> {
    const before = await this.record(scriptId);
    if (before !== undefined) await removeFile(this.#entryPath(before));
  }

  /**
   * Records a resting state. Call this method after the batch with the new status. Until the method completes, the
   * script stays under `running`.
   */
  async rest(record: StatusRecord): Promise<void> {
    const { scriptId } = record;
    await this.running(scriptId);
    await this.wake(scriptId);
    await files.rename(await this.#folder.createPartial(writeRecord(record)), this.#ownPath(scriptId));
    await this.#folder.within(['status', record.state], () => this.#link(record));
    await this.#sleep(scriptId);
  }

  /** Links the entry, unless another process has just done so. */
  async #link(record: StatusRecord): Promise<void> {
    try {
      await files.link(this.#ownPath(record.scriptId), this.#entryPath(record));
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
    }
  }

  /**
   * Prepares a deletion. Call this method before you delete the script, which stays under `running` until `deleted`.
   */
  async deleting(scriptId: string): Promise<void> {
    await this.running(scriptId);
    await this.wake(scriptId);
  }

  /** Completes a deletion. Call this method after you delete the claim and the journal. */
  deleted(scriptId: string): Promise<void> {
    return this.#sleep(scriptId);
  }

  /** The last record of a resting script; undefined if missing or damaged. */
  async record(scriptId: string): Promise<StatusRecord | undefined> {
    return readRecord(await readSmall(this.#ownPath(scriptId)));
  }

  async statusRecord(entry: IndexEntry): Promise<StatusRecord | undefined> {
    return readRecord(await readSmall(this.#entryPath(entry)));
  }

  async runningIds(): Promise<readonly string[]> {
    return (await folderNames(this.#folder.path('status', 'running'))).filter(isScriptId);
  }

  /** At most `max` entries after `after`, oldest first. */
  async resting(state: RestingState, after: string, max: number): Promise<readonly IndexEntry[]> {
    const names = await this.#listings.names(this.#folder.path('status', state));
    return smallest(names, after, max).flatMap((name) => indexEntries(name, state));
  }

  /** Removes an entry whose script no longer exists. */
  async drop(entry: IndexEntry): Promise<void> {
    await removeFile(this.#entryPath(entry));
  }

  /** Removes the mark of a script that has neither a claim nor a journal, unless its claim may still be under way. */
  async dropStaleMark(scriptId: string): Promise<void> {
    const markedAtMs = (await statFile(this.#folder.path('status', 'running', scriptId)))?.mtimeMs;
    if (markedAtMs !== undefined && Date.now() - markedAtMs > STALE_MARK_MS) await this.#sleep(scriptId);
  }

  async #sleep(scriptId: string): Promise<void> {
    await removeFile(this.#folder.path('status', 'running', scriptId));
  }

  #entryPath({ state, updatedAtMs, scriptId }: IndexEntry): string {
    return this.#folder.path('status', state, statusEntryName(updatedAtMs, scriptId));
  }

  #ownPath(scriptId: string): string {
    return join(this.#folder.path('claims', scriptId), 'status');
  }
}

/** The name of an entry. Names sort by time, then by script. */
export function statusEntryName(updatedAtMs: number, scriptId: string): string {
  return `${Math.max(0, Math.floor(updatedAtMs)).toString(36).padStart(TIME_DIGITS, '0')}.${scriptId}`;
}

/**
 * The first `max` names after `after`, without a full sort: sorting ten thousand names to show a hundred would dominate
 * the time.
 */
function smallest(names: readonly string[], after: string, max: number): readonly string[] {
  const later = names.filter((name) => name > after);
  if (later.length <= 2 * max) return later.sort().slice(0, max);
  let best: string[] = [];
  let bound: string | undefined;
  for (const name of later) {
    if (bound !== undefined && name >= bound) continue;
    best.push(name);
    if (best.length < 2 * max) continue;
    best = best.sort().slice(0, max);
    bound = best.at(-1);
  }
  return best.sort().slice(0, max);
}

function indexEntries(name: string, state: RestingState): IndexEntry[] {
  const scriptId = name.slice(TIME_DIGITS + 1);
  const updatedAtMs = Number.parseInt(name.slice(0, TIME_DIGITS), 36);
  return name[TIME_DIGITS] === '.' && isScriptId(scriptId) && Number.isFinite(updatedAtMs)
    ? [{ scriptId, state, updatedAtMs }]
    : [];
}

/** Creates an empty file, unless the file exists. */
async function makeMark(path: string): Promise<void> {
  try {
    await files.close(await createFile(path));
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
}

function writeRecord(record: StatusRecord): string {
  const json = JSON.stringify(record);
  return `${checksum(json)} ${json}`;
}

function readRecord(found: Buffer | undefined): StatusRecord | undefined {
  const text = found?.toString('utf8') ?? '';
  const json = text.slice(9);
  return text.startsWith(`${checksum(json)} `) ? (JSON.parse(json) as StatusRecord) : undefined;
}

/** Two changes within this time may leave the same modification time, because file systems round it. */
const SETTLED_MS = 5_000;

/**
 * Caches the names in large folders. An unchanged folder is not read again: ten thousand names take 10 ms, and a caller
 * that pages through them needs the names a hundred times.
 */
class FolderListings {
  readonly #knownListings = new Map<string, { changedAtMs: number; names: readonly string[] }>();

  /** The names in a folder; empty if there is no such folder. */
  async names(path: string): Promise<readonly string[]> {
    const changedAtMs = (await statFile(path))?.mtimeMs;
    const known = this.#knownListings.get(path);
    if (known !== undefined && known.changedAtMs === changedAtMs) return known.names;
    const names = await folderNames(path);
    if (changedAtMs !== undefined && Date.now() - changedAtMs > SETTLED_MS)
      this.#knownListings.set(path, { changedAtMs, names });
    else this.#knownListings.delete(path);
    return names;
  }
}

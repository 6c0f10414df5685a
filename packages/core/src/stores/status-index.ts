import { join } from 'node:path';
import { checksum } from './journal-text.js';
import { isScriptId, type ScriptStatus } from '../protocol/index.js';
import { FolderListings } from './folder-listings.js';
import { createFile, files, hasCode, namesIn, readSmall, removeFile, type StoreFolder } from './store-folder.js';

/** States in which a script changes only after a claim. */
export type RestingState = 'suspended' | 'ended';

export function isResting(state: string): state is RestingState {
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

/** Base 36; sufficient until the year 5138. */
const TIME_DIGITS = 9;

/**
 * An index that makes lists cheap. It is derived from the journal, which is authoritative:
 *
 *     status/running/<script>                   claimed, and not at rest since. Written before the claim takes effect
 *     status/suspended/<time>.<script>          the record of a suspended script; the name sorts by time
 *     status/ended/<time>.<script>
 *     claims/<script>/status                    a hard link to one of the two records above, to find its name
 *
 * A script under `running` may be at rest if its holder died between its last batch and the index update; a list checks
 * the journal of each. A script under `suspended` or `ended`, and not under `running`, is at rest.
 */
export class StatusIndex {
  readonly #folder: StoreFolder;
  readonly #listings = new FolderListings();

  constructor(folder: StoreFolder) {
    this.#folder = folder;
  }

  /** Call it before a claim. */
  async running(scriptId: string): Promise<void> {
    const path = this.#folder.path('status', 'running', scriptId);
    await this.#folder.within(['status', 'running'], () => makeMark(path));
  }

  /** Call it after a successful claim: the script is no longer at rest. */
  async wake(scriptId: string): Promise<void> {
    const before = await this.record(scriptId);
    if (before !== undefined) await removeFile(this.#pathOf(before));
  }

  /** Call it after the batch with the new status. Until it completes, the script stays under `running`. */
  async rest(record: StatusRecord): Promise<void> {
    const { scriptId } = record;
    await this.running(scriptId);
    await this.wake(scriptId);
    await files.rename(await this.#folder.createPartial(writeRecord(record)), this.#ownPath(scriptId));
    await this.#folder.within(['status', record.state], () =>
      files.link(this.#ownPath(scriptId), this.#pathOf(record)),
    );
    await this.#sleep(scriptId);
  }

  /** Call it before deleting the script, which stays under `running` until `deleted`. */
  async deleting(scriptId: string): Promise<void> {
    await this.running(scriptId);
    await this.wake(scriptId);
  }

  /** Call it after deleting claim and journal. */
  deleted(scriptId: string): Promise<void> {
    return this.#sleep(scriptId);
  }

  /** The last record of a resting script; undefined if missing or damaged. */
  async record(scriptId: string): Promise<StatusRecord | undefined> {
    return readRecord(await readSmall(this.#ownPath(scriptId)));
  }

  async recordOf(entry: IndexEntry): Promise<StatusRecord | undefined> {
    return readRecord(await readSmall(this.#pathOf(entry)));
  }

  async runningIds(): Promise<readonly string[]> {
    return (await namesIn(this.#folder.path('status', 'running'))).filter(isScriptId);
  }

  /** At most `max` entries after `after`, oldest first. */
  async resting(state: RestingState, after: string, max: number): Promise<readonly IndexEntry[]> {
    const names = await this.#listings.names(this.#folder.path('status', state));
    return smallest(names, after, max).flatMap((name) => entryOf(name, state));
  }

  /** Removes an entry without a script. */
  async drop(entry: IndexEntry): Promise<void> {
    await removeFile(this.#pathOf(entry));
  }

  /** Whether the index covers every script. Stores of earlier versions have no index. */
  async isComplete(): Promise<boolean> {
    return (await namesIn(this.#folder.path('status'))).includes('complete');
  }

  async setComplete(): Promise<void> {
    const path = this.#folder.path('status', 'complete');
    await this.#folder.within(['status'], () => makeMark(path));
  }

  async #sleep(scriptId: string): Promise<void> {
    await removeFile(this.#folder.path('status', 'running', scriptId));
  }

  #pathOf({ state, updatedAtMs, scriptId }: IndexEntry): string {
    return this.#folder.path('status', state, nameOf(updatedAtMs, scriptId));
  }

  #ownPath(scriptId: string): string {
    return join(this.#folder.path('claims', scriptId), 'status');
  }
}

/** Sorts by time, then by script. */
export function nameOf(updatedAtMs: number, scriptId: string): string {
  return `${Math.max(0, Math.floor(updatedAtMs)).toString(36).padStart(TIME_DIGITS, '0')}.${scriptId}`;
}

/** Selects without sorting all: sorting ten thousand names to show a hundred would dominate the time. */
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

function entryOf(name: string, state: RestingState): IndexEntry[] {
  const scriptId = name.slice(TIME_DIGITS + 1);
  const updatedAtMs = Number.parseInt(name.slice(0, TIME_DIGITS), 36);
  return name[TIME_DIGITS] === '.' && isScriptId(scriptId) && Number.isFinite(updatedAtMs)
    ? [{ scriptId, state, updatedAtMs }]
    : [];
}

/** Creates an empty file. */
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

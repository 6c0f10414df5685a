import { join } from 'node:path';
import { checksum } from './journal-text.js';
import { isScriptId, type ScriptStatus } from '../protocol/index.js';
import { FolderListings } from './folder-listings.js';
import { createFile, files, hasCode, namesIn, readSmall, removeFile, type StoreFolder } from './store-folder.js';

/** States in which nothing of a script changes without a take. */
export type RestingState = 'suspended' | 'ended';

export function isResting(state: string): state is RestingState {
  return state === 'suspended' || state === 'ended';
}

/** What a list tells of a script that rests. */
export interface StatusRecord extends Omit<ScriptStatus, 'state'> {
  readonly scriptId: string;
  readonly state: RestingState;
  readonly updatedAtMs: number;
  readonly bytes: number;
}

/** A script that rests, by its name in the index alone. */
export interface IndexEntry {
  readonly scriptId: string;
  readonly state: RestingState;
  readonly updatedAtMs: number;
}

/** Base 36; enough until the year 5138. */
const TIME_DIGITS = 9;

/**
 * What makes lists cheap. The journal is the truth, and the index is made from it:
 *
 *     status/running/<script>                   taken, and not put to rest since. Written before the take counts
 *     status/suspended/<time>.<script>          the record of a script that waits; its name sorts by time
 *     status/ended/<time>.<script>
 *     claims/<script>/status                    the same file as one of the two above: leads to its name
 *
 * A script that stands under `running` may rest all the same, where its holder died between its last batch and the
 * index; whoever lists it looks into its journal. What stands under `suspended` and `ended` and not under `running`
 * rests.
 */
export class StatusIndex {
  readonly #folder: StoreFolder;
  readonly #listings = new FolderListings();

  constructor(folder: StoreFolder) {
    this.#folder = folder;
  }

  /** Before a take. */
  async running(scriptId: string): Promise<void> {
    const path = this.#folder.path('status', 'running', scriptId);
    await this.#folder.within(['status', 'running'], () => makeMark(path));
  }

  /** After a take that won: it rests no more. */
  async wake(scriptId: string): Promise<void> {
    const before = await this.record(scriptId);
    if (before !== undefined) await removeFile(this.#pathOf(before));
  }

  /** After the batch that says so. Until it is done the script stands under `running`. */
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

  /** Before the script is deleted. Until `forgotten` it stands under `running`. */
  async forget(scriptId: string): Promise<void> {
    await this.running(scriptId);
    await this.wake(scriptId);
  }

  /** There is neither a claim nor a journal any more. */
  forgotten(scriptId: string): Promise<void> {
    return this.#sleep(scriptId);
  }

  /** What a script that rests wrote last; undefined where there is none, or it is damaged. */
  async record(scriptId: string): Promise<StatusRecord | undefined> {
    return readRecord(await readSmall(this.#ownPath(scriptId)));
  }

  async recordOf(entry: IndexEntry): Promise<StatusRecord | undefined> {
    return readRecord(await readSmall(this.#pathOf(entry)));
  }

  async runningIds(): Promise<readonly string[]> {
    return (await namesIn(this.#folder.path('status', 'running'))).filter(isScriptId);
  }

  /** The oldest of those that stand behind `after`, oldest first; at most so many. */
  async resting(state: RestingState, after: string, most: number): Promise<readonly IndexEntry[]> {
    const names = await this.#listings.names(this.#folder.path('status', state));
    return smallest(names, after, most).flatMap((name) => entryOf(name, state));
  }

  /** An entry that leads nowhere. */
  async drop(entry: IndexEntry): Promise<void> {
    await removeFile(this.#pathOf(entry));
  }

  /** Whether every script of the store is in the index: stores of earlier versions have none. */
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

/** Sorting ten thousand names to show a hundred would take most of the time. */
function smallest(names: readonly string[], after: string, most: number): readonly string[] {
  const behind = names.filter((name) => name > after);
  if (behind.length <= 2 * most) return behind.sort().slice(0, most);
  let best: string[] = [];
  let bound: string | undefined;
  for (const name of behind) {
    if (bound !== undefined && name >= bound) continue;
    best.push(name);
    if (best.length < 2 * most) continue;
    best = best.sort().slice(0, most);
    bound = best.at(-1);
  }
  return best.sort().slice(0, most);
}

function entryOf(name: string, state: RestingState): IndexEntry[] {
  const scriptId = name.slice(TIME_DIGITS + 1);
  const updatedAtMs = Number.parseInt(name.slice(0, TIME_DIGITS), 36);
  return name[TIME_DIGITS] === '.' && isScriptId(scriptId) && Number.isFinite(updatedAtMs)
    ? [{ scriptId, state, updatedAtMs }]
    : [];
}

/** An empty file. */
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

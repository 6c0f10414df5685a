import type { JournalContent, ListQuery, ScriptPage, ScriptStatus, ListedScript } from '../protocol/index.js';
import type { ClaimFiles } from './claim-files.js';
import type { JournalFiles } from './journal-files.js';
import type { JournalText } from './journal-text.js';
import { statusOfVersion1 } from './version-1.js';
import { isResting, nameOf, type IndexEntry, type RestingState, type StatusIndex } from './status-index.js';

/** Number of files read concurrently. */
const AT_ONCE = 32;

type Content = JournalContent & { text: JournalText; bytes: number };

/** A script to list, and how to load its entry. */
interface Candidate {
  readonly scriptId: string;
  readonly updatedAtMs: number;
  /** Undefined if the script no longer exists. */
  look(): Promise<ListedScript | undefined>;
}

/** Lists the scripts of a file store, and repairs the index if a process died between journal and index. */
export class ScriptLister {
  readonly #claims: ClaimFiles;
  readonly #journals: JournalFiles;
  readonly #index: StatusIndex;
  readonly #contentOf: (scriptId: string) => Promise<Content>;

  constructor(
    claims: ClaimFiles,
    journals: JournalFiles,
    index: StatusIndex,
    contentOf: (scriptId: string) => Promise<Content>,
  ) {
    this.#claims = claims;
    this.#journals = journals;
    this.#index = index;
    this.#contentOf = contentOf;
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
    after = '',
    limit = Number.POSITIVE_INFINITY,
  }: ListQuery): Promise<ScriptPage> {
    await this.#complete();
    const awake = await this.#awake();
    const scripts: ListedScript[] = [];
    let position = after;
    // If few scripts of a page match, the next reads are larger.
    for (let max = limit; ; max *= 4) {
      const part = await this.#after(position, max, state, awake);
      for (let start = 0; start < part.length; start += AT_ONCE) {
        const found = await Promise.all(part.slice(start, start + AT_ONCE).map((candidate) => candidate.look()));
        for (const [index, script] of found.entries()) {
          if (script === undefined || !fits(script, { state, principal, threadId })) continue;
          scripts.push(script);
          if (scripts.length === limit) return { scripts, next: positionOf(part[start + index]!) };
        }
      }
      if (part.length < max) return { scripts };
      position = positionOf(part.at(-1)!);
    }
  }

  /** By time. Scripts known to be in another state are skipped. */
  async #after(
    after: string,
    max: number,
    state: ListQuery['state'],
    awake: readonly Candidate[],
  ): Promise<Candidate[]> {
    const states: RestingState[] =
      state === undefined || state === 'damaged' ? ['suspended', 'ended'] : isResting(state) ? [state] : [];
    const known = new Set(awake.map(({ scriptId }) => scriptId));
    const entries = await Promise.all(states.map((one) => this.#index.resting(one, after, max)));
    const resting = entries
      .flat()
      .filter(({ scriptId }) => !known.has(scriptId))
      .map((entry) => ({ ...entry, look: () => this.#resting(entry) }));
    const all = [...resting, ...awake.filter((candidate) => positionOf(candidate) > after)];
    if (states.length !== 1 || all.length > resting.length)
      all.sort((one, other) => (positionOf(one) < positionOf(other) ? -1 : 1));
    return all.slice(0, max);
  }

  /** Scripts marked as running. Each one is checked. */
  async #awake(): Promise<Candidate[]> {
    const candidates: Candidate[] = [];
    for (const scriptId of await this.#index.runningIds()) {
      const script = await this.#look(scriptId);
      if (script !== undefined)
        candidates.push({ scriptId, updatedAtMs: script.updatedAtMs, look: async () => script });
    }
    return candidates;
  }

  async #resting(entry: IndexEntry): Promise<ListedScript | undefined> {
    const [record, { bytes }] = await Promise.all([this.#index.recordOf(entry), this.#journals.size(entry.scriptId)]);
    // A journal of a different size has changed since the record.
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
      await this.#index.deleted(scriptId);
      return undefined;
    }
    const updatedAtMs = changedAtMs ?? (await this.#claims.changedAtMs(scriptId, epoch)) ?? 0;
    const content = await this.#contentOf(scriptId).catch(() => undefined);
    // The journal is a link or a folder, or the disk fails. The list must still contain the other scripts.
    if (content === undefined) return { scriptId, state: 'damaged', updatedAtMs, bytes: 0 };
    const { text, damage, bytes } = content;
    const { state: said, ...status } = text.status ?? statusOfVersion1(text.lines);
    if (damage !== undefined) return { scriptId, ...status, state: 'damaged', updatedAtMs, bytes };
    if (said === 'running')
      return { scriptId, ...status, state: claim?.isHeld === true ? 'running' : 'interrupted', updatedAtMs, bytes };
    await this.rest(scriptId, { state: said, ...status }, updatedAtMs);
    return { scriptId, ...status, state: said, updatedAtMs, bytes };
  }

  /** Adds scripts of earlier versions, which have no index. */
  async #complete(): Promise<void> {
    if (await this.#index.isComplete()) return;
    const all = new Set([...(await this.#claims.scriptIds()), ...(await this.#journals.scriptIds())]);
    if (all.size === 0) return;
    for (const scriptId of all)
      if ((await this.#index.record(scriptId)) === undefined) await this.#index.running(scriptId);
    await this.#index.setComplete();
  }
}

function positionOf({ updatedAtMs, scriptId }: { updatedAtMs: number; scriptId: string }): string {
  return nameOf(updatedAtMs, scriptId);
}

export function fits(script: ListedScript, { state, principal, threadId }: ListQuery): boolean {
  return (
    (state === undefined || script.state === state) &&
    (principal === undefined || script.principal === principal) &&
    (threadId === undefined || script.threadId === threadId)
  );
}

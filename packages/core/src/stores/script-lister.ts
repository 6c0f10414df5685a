import type { JournalContent, ListQuery, ScriptPage, ScriptStatus, ListedScript } from '../protocol/index.js';
import type { ClaimFiles } from './claim-files.js';
import type { JournalFiles } from './journal-files.js';
import type { JournalText } from './journal-text.js';
import { statusOfVersion1 } from './version-1.js';
import { isResting, nameOf, type IndexEntry, type RestingState, type StatusIndex } from './status-index.js';

/** Files that are read side by side. */
const AT_ONCE = 32;

type Content = JournalContent & { text: JournalText; bytes: number };

/** A script that is to be listed, and how to find out what to say of it. */
interface Candidate {
  readonly scriptId: string;
  readonly updatedAtMs: number;
  /** Undefined where it is not there any more. */
  look(): Promise<ListedScript | undefined>;
}

/** Lists what a file store keeps, and repairs its index where a process died between journal and index. */
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

  /** The journal says that the script rests: the index says so too. */
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
    // More than a page holds where few of them fit.
    for (let most = limit; ; most *= 4) {
      const part = await this.#behind(position, most, state, awake);
      for (let start = 0; start < part.length; start += AT_ONCE) {
        const found = await Promise.all(part.slice(start, start + AT_ONCE).map((candidate) => candidate.look()));
        for (const [index, script] of found.entries()) {
          if (script === undefined || !fits(script, { state, principal, threadId })) continue;
          scripts.push(script);
          if (scripts.length === limit) return { scripts, next: positionOf(part[start + index]!) };
        }
      }
      if (part.length < most) return { scripts };
      position = positionOf(part.at(-1)!);
    }
  }

  /** By time. Those of another state than the one that is looked for are left out where that is known. */
  async #behind(
    after: string,
    most: number,
    state: ListQuery['state'],
    awake: readonly Candidate[],
  ): Promise<Candidate[]> {
    const states: RestingState[] =
      state === undefined || state === 'damaged' ? ['suspended', 'ended'] : isResting(state) ? [state] : [];
    const known = new Set(awake.map(({ scriptId }) => scriptId));
    const entries = await Promise.all(states.map((one) => this.#index.resting(one, after, most)));
    const resting = entries
      .flat()
      .filter(({ scriptId }) => !known.has(scriptId))
      .map((entry) => ({ ...entry, look: () => this.#resting(entry) }));
    const all = [...resting, ...awake.filter((candidate) => positionOf(candidate) > after)];
    if (states.length !== 1 || all.length > resting.length)
      all.sort((one, other) => (positionOf(one) < positionOf(other) ? -1 : 1));
    return all.slice(0, most);
  }

  /** Those that are marked as running, each looked at. */
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
    // A journal of another size is not the one that the record tells of.
    if (record?.bytes === bytes) return record;
    const script = await this.#look(entry.scriptId);
    if (script === undefined) await this.#index.drop(entry);
    return script;
  }

  /** What the journal says. Undefined where there is neither a claim nor a journal. */
  async #look(scriptId: string): Promise<ListedScript | undefined> {
    const epoch = await this.#claims.newestEpoch(scriptId);
    const claim = epoch === 0 ? undefined : await this.#claims.claim(scriptId, epoch);
    const { changedAtMs } = await this.#journals.size(scriptId);
    if (claim === undefined && changedAtMs === undefined) {
      await this.#index.forgotten(scriptId);
      return undefined;
    }
    const updatedAtMs = changedAtMs ?? (await this.#claims.changedAtMs(scriptId, epoch)) ?? 0;
    const content = await this.#contentOf(scriptId).catch(() => undefined);
    // A link or a folder in its place, or a disk that cannot be read: the other scripts are listed all the same.
    if (content === undefined) return { scriptId, state: 'damaged', updatedAtMs, bytes: 0 };
    const { text, damage, bytes } = content;
    const { state: said, ...status } = text.status ?? statusOfVersion1(text.lines);
    if (damage !== undefined) return { scriptId, ...status, state: 'damaged', updatedAtMs, bytes };
    if (said === 'running')
      return { scriptId, ...status, state: claim?.isHeld === true ? 'running' : 'interrupted', updatedAtMs, bytes };
    await this.rest(scriptId, { state: said, ...status }, updatedAtMs);
    return { scriptId, ...status, state: said, updatedAtMs, bytes };
  }

  /** Stores of earlier versions have no index. */
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

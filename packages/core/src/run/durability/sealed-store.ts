import type {
  AppendOptions,
  ClaimStore,
  HarnessStore,
  ImageStore,
  JournalContent,
  JournalDamage,
  JournalStore,
  TakeOptions,
  ClaimedJournal,
} from '../../protocol/index.js';
import { SealedHeaps } from './sealed-heaps.js';
import type { SuspensionSeal } from './suspension-envelope.js';

/*
 * Only authenticated bytes decide. Each line of a journal ends with the epoch of its writer and a MAC (HMAC-SHA-256
 * with a key that is derived from the suspension key) over the MAC of the line before it, the script's id, the line and
 * the epoch:
 *
 *     {"t":"intent",…,"epoch":1,"mac":"…"}
 *
 * The first line that a holder writes also names the key, so that a missing key does not look like a changed line:
 * `,"sealedBy":"ID"` before the epoch.
 *
 * So a program without the key can only remove lines at the end, which is the journal of an interrupted script.
 */

const END = /,"epoch":\d+,"mac":"(?<mac>[\w-]{43})"\}$/u;
/** The length of `,"mac":"…"}`. */
const MAC_LENGTH = 53;

const SEALED_BY = /,"sealedBy":"(?<key>[\da-f]{16})","epoch":\d+,"mac":"[\w-]{43}"\}$/u;

const CHANGED = 'a line was changed without the suspension key';

/** The end of a script's journal, to which the next line is chained. */
interface Head {
  readonly epoch: number;
  /** Undefined: the journal must be read first, because the last append may have failed. */
  mac: string | undefined;
  /** Appends that wait until the journal has been read, and the reading. */
  waiting: number;
  /** Whether a line of this holder names the key. */
  isNamed: boolean;
  reading: Promise<string> | undefined;
}

/** A store whose journals are authenticated. It has the same ports as the store that it uses. */
export class SealedStore implements HarnessStore {
  readonly claim: ClaimStore;
  readonly journal: JournalStore;
  readonly images: ImageStore;
  readonly heaps: HarnessStore['heaps'];
  readonly isFlushed: boolean | undefined;
  readonly hasRuns: boolean | undefined;
  readonly probe: HarnessStore['probe'];
  readonly #store: HarnessStore;
  readonly #seal: SuspensionSeal;
  /** The scripts that this store has claimed, by id. */
  readonly #heads = new Map<string, Head>();

  constructor(store: HarnessStore, seal: SuspensionSeal) {
    const { claim, journal } = store;
    this.#store = store;
    this.#seal = seal;
    this.images = store.images;
    this.heaps = store.heaps && new SealedHeaps(store.heaps, seal);
    this.isFlushed = store.isFlushed;
    this.hasRuns = store.hasRuns;
    this.probe = store.probe?.bind(store);
    this.claim = {
      current: (scriptId) => claim.current(scriptId),
      take: (scriptId, fromEpoch, options) => this.#take(scriptId, fromEpoch, options),
      renew: (scriptId, epoch) => claim.renew(scriptId, epoch),
      release: (scriptId, epoch) => {
        if (this.#heads.get(scriptId)?.epoch === epoch) this.#heads.delete(scriptId);
        return claim.release(scriptId, epoch);
      },
    };
    this.journal = {
      append: (scriptId, epoch, lines, options) => this.#append(scriptId, epoch, lines, options),
      read: async (scriptId) => {
        const content = await journal.read(scriptId);
        return content && this.#verified(scriptId, content).content;
      },
      list: (query) => journal.list(query),
      delete: (scriptId) => {
        this.#heads.delete(scriptId);
        return journal.delete(scriptId);
      },
    };
  }

  /** The lines are appended after the claim, because they are chained to the last line at the moment of the claim. */
  async #take(
    scriptId: string,
    fromEpoch: number,
    { lines = [], status, ...options }: TakeOptions,
  ): Promise<ClaimedJournal | undefined> {
    const own = lines.length === 0 && status !== undefined ? { ...options, status } : options;
    const taken = await this.#store.claim.take(scriptId, fromEpoch, own);
    if (taken === undefined) return undefined;
    const { epoch, ...read } = taken;
    const { content, mac } = this.#verified(scriptId, read);
    this.#heads.set(scriptId, { epoch, mac, waiting: 0, isNamed: false, reading: undefined });
    if (lines.length > 0 && content === read) await this.#appendClaimed(scriptId, epoch, lines, { status });
    return { epoch, ...content };
  }

  async #appendClaimed(
    scriptId: string,
    epoch: number,
    lines: readonly string[],
    { status }: Pick<TakeOptions, 'status'>,
  ): Promise<void> {
    try {
      await this.#append(scriptId, epoch, lines, status === undefined ? {} : { status });
    } catch (error) {
      await this.claim.release(scriptId, epoch).catch(() => {});
      throw error;
    }
  }

  #append(scriptId: string, epoch: number, lines: readonly string[], options?: AppendOptions): void | Promise<void> {
    const head = this.#headOf(scriptId, epoch);
    if (head.mac !== undefined && head.waiting === 0) return this.#appendAt(scriptId, head, lines, options);
    head.waiting += 1;
    head.reading ??= this.#lastMac(scriptId);
    return this.#appendAfter(head.reading, scriptId, head, lines, options);
  }

  /** Returns the end of the journal. A script that was released may still be written by its detached tasks. */
  #headOf(scriptId: string, epoch: number): Head {
    const known = this.#heads.get(scriptId);
    if (known?.epoch === epoch) return known;
    const head = { epoch, mac: undefined, waiting: 0, isNamed: false, reading: undefined };
    if (known === undefined) this.#heads.set(scriptId, head);
    return head;
  }

  // oxlint-disable-next-line max-params
  async #appendAfter(
    reading: Promise<string>,
    scriptId: string,
    head: Head,
    lines: readonly string[],
    options?: AppendOptions,
  ): Promise<void> {
    try {
      const mac = await reading;
      head.mac ??= mac;
    } finally {
      head.waiting -= 1;
      if (head.waiting === 0) head.reading = undefined;
    }
    await this.#appendAt(scriptId, head, lines, options);
  }

  #appendAt(scriptId: string, head: Head, lines: readonly string[], options?: AppendOptions): void | Promise<void> {
    const failed = (error: unknown): never => {
      head.isNamed = false;
      head.mac = undefined;
      throw error;
    };
    const sealed = lines.map((line) => {
      const key = head.isNamed ? '' : `,"sealedBy":"${this.#seal.keyIds[0]}"`;
      head.isNamed = true;
      const body = `${line.slice(0, -1)}${key},"epoch":${head.epoch}`;
      head.mac = this.#seal.mac(chained(head.mac ?? '', scriptId, body));
      return `${body},"mac":"${head.mac}"}`;
    });
    try {
      return this.#store.journal.append(scriptId, head.epoch, sealed, options)?.catch(failed);
    } catch (error) {
      return failed(error);
    }
  }

  async #lastMac(scriptId: string): Promise<string> {
    const content = await this.#store.journal.read(scriptId);
    return content === undefined ? '' : this.#verified(scriptId, content).mac;
  }

  /** Returns the content up to the first line that is not authentic, and the MAC of the last authentic line. */
  #verified<Content extends JournalContent>(scriptId: string, content: Content): { content: Content; mac: string } {
    let last = '';
    for (const [index, line] of content.lines.entries()) {
      const mac = END.exec(line)?.groups?.['mac'];
      // defence: journal-lines-are-authenticated
      if (mac === undefined || !this.#seal.isMac(chained(last, scriptId, line.slice(0, -MAC_LENGTH)), mac)) {
        const damage = content.damage?.isUnflushedTail === false ? content.damage : this.#damageAt(line);
        return { content: { ...content, lines: content.lines.slice(0, index), damage }, mac: last };
      }
      last = mac;
    }
    return { content, mac: last };
  }

  /** The reason why a line is not authentic. A line can be changed to name a key, so the script is refused either way. */
  #damageAt(line: string): JournalDamage {
    const key = SEALED_BY.exec(line)?.groups?.['key'];
    if (key === undefined || this.#seal.keyIds.includes(key)) return { message: CHANGED, isUnflushedTail: false };
    const message = `it was written with the suspension key ${key}, which this process does not have`;
    return { message, isUnflushedTail: false, foreignKey: key };
  }
}

/** The text that a MAC covers. No line and no id has a line feed, so the parts cannot be mistaken for each other. */
function chained(mac: string, scriptId: string, body: string): string {
  // defence: journal-lines-are-chained
  return `${mac}\n${scriptId}\n${body}`;
}

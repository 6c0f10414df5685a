import { setTimeout as delay } from 'node:timers/promises';
import type { RedisConnection, Reply } from './connection.js';
import { ChangeBoard } from '../change-board.js';

/** Maximum time that Redis waits for a change before it answers without one, in ms. */
const BLOCK_MS = 5_000;

/** Maximum number of changes that one answer contains. */
const MAX_CHANGES = 1_000;

const RETRY_MS = 100;

/**
 * Announces the changed runs of all processes. One command for the whole process waits for changes, regardless of the
 * number of readers. The command starts with the first reader.
 */
export class RedisChanges {
  readonly board = new ChangeBoard(() => this.#start());
  readonly #connection: RedisConnection;
  readonly #onChange: (runId: string | undefined) => void;
  readonly #ending = new AbortController();
  #following: Promise<void> | undefined;

  /** `onChange` is called before each announcement. Without a run id, any run may have changed. */
  constructor(connection: RedisConnection, onChange: (runId: string | undefined) => void) {
    this.#connection = connection;
    this.#onChange = onChange;
  }

  /** Announces a change of this process. */
  announce(runId?: string): void {
    this.#onChange(runId);
    this.board.announce(runId);
  }

  /** Stops the wait for changes. Call this function before the connection closes, and await its promise afterwards. */
  async close(): Promise<void> {
    this.#ending.abort();
    this.board.close();
    await this.#following;
  }

  #start(): void {
    this.#following ??= this.#follow();
  }

  async #follow(): Promise<void> {
    let last: string | undefined;
    while (!this.#ending.signal.aborted) {
      try {
        last ??= await this.#position();
        last = (await this.#next(last)) ?? last;
      } catch {
        last = undefined;
        await delay(RETRY_MS, undefined, { signal: this.#ending.signal, ref: false }).catch(() => {});
      }
    }
  }

  /**
   * Reads the id of the newest change. Announces that any run may have changed, because this process may have missed
   * earlier changes.
   */
  async #position(): Promise<string> {
    const reply = (await this.#connection.wait(['XREVRANGE', this.#key, '+', '-', 'COUNT', '1'])) as readonly Reply[];
    this.announce();
    return ((reply[0] as readonly Reply[] | undefined)?.[0] as string | undefined) ?? '0-0';
  }

  /** Announces the changes after the change with the id `last`, and returns the id of the newest one. */
  async #next(last: string): Promise<string | undefined> {
    const command = ['XREAD', 'COUNT', String(MAX_CHANGES), 'BLOCK', String(BLOCK_MS), 'STREAMS', this.#key, last];
    const reply = (await this.#connection.wait(command)) as readonly [readonly [string, readonly Entry[]]] | null;
    if (reply === null) return undefined;
    const entries = reply[0][1];
    for (const runId of new Set(entries.map(([, [, value]]) => value))) this.announce(runId);
    return entries.at(-1)?.[0];
  }

  get #key(): string {
    return `${this.#connection.place.prefix}:changes`;
  }
}

/** The id of an entry, and the name and value of its only field. */
type Entry = readonly [string, readonly [string, string]];

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { ChangeBoard } from '../change-board.js';

/** Interval at which waiting readers poll the database if notifications do not arrive, in ms. */
const POLL_MS = 1_000;

/**
 * Interval at which waiting readers poll the database if notifications arrive, in ms. A process that dies between its
 * commit and its notification announces nothing.
 */
const SAFETY_MS = 10_000;

/** The first and the maximum delay between attempts to connect, in ms. */
const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 2_000;

/** Maximum length of a notification's keys. PostgreSQL's own maximum for a notification is 8 000 bytes. */
const MAX_PAYLOAD = 7_000;

const ANY = '*';

export interface ChangeSettings {
  readonly config: pg.ClientConfig;
  /** The channel for notifications, which all programs on the same tables share. */
  readonly channel: string;
  readonly notify: (channel: string, payload: string) => Promise<void>;
  readonly onForeignChange: (key?: string) => void;
}

/**
 * Announces changes of this process and of others. `NOTIFY` is sent after the commit, once for several changes, because
 * PostgreSQL commits transactions with a notification one after the other. Readers do not depend on notifications: they
 * also poll, for example if a pooler loses the notifications.
 */
export class Changes {
  readonly board = new ChangeBoard(() => this.#start());
  readonly #settings: ChangeSettings;
  readonly #self = randomUUID().slice(0, 8);
  readonly #unsent = new Set<string>();
  readonly #ending = new AbortController();
  #sending: Promise<void> | undefined;
  #listening: Promise<unknown> | undefined;
  #client: pg.Client | undefined;
  /** True after this process has received its own notification on the current connection. */
  #isHeard = false;

  constructor(settings: ChangeSettings) {
    this.#settings = settings;
  }

  announce(key: string = ANY): void {
    this.board.announce(key === ANY ? undefined : key);
    this.#unsent.add(key);
    this.#send();
  }

  async close(): Promise<void> {
    this.#ending.abort();
    this.board.close();
    await this.#sending;
    await this.#client?.end().catch(() => {});
    await this.#listening;
  }

  #send(): void {
    this.#sending ??= this.#sendAll().finally(() => (this.#sending = undefined));
  }

  async #sendAll(): Promise<void> {
    // Changes that arrive at the same time are sent together.
    await Promise.resolve();
    while (this.#unsent.size > 0) {
      const keys = [...this.#unsent].join(' ');
      this.#unsent.clear();
      const payload = keys.length > MAX_PAYLOAD ? ANY : keys;
      // A lost notification does no harm, because readers also poll.
      await this.#settings.notify(this.#settings.channel, `${this.#self} ${payload}`).catch(() => {});
    }
  }

  #start(): void {
    this.#listening ??= Promise.all([this.#listen(), this.#poll()]);
  }

  async #listen(): Promise<void> {
    let waitMs = FIRST_WAIT_MS;
    while (!this.#ending.signal.aborted) {
      const connected = await this.#connect().catch(() => undefined);
      if (connected !== undefined) waitMs = FIRST_WAIT_MS;
      await connected?.ended;
      this.#isHeard = false;
      await this.#pause(waitMs);
      waitMs = Math.min(waitMs * 2, MAX_WAIT_MS);
    }
  }

  /** Connects and listens. The result's `ended` resolves when the connection has ended. */
  async #connect(): Promise<{ readonly ended: Promise<void> }> {
    const client = new pg.Client(this.#settings.config);
    const ended = new Promise<void>((resolve) => client.once('end', resolve));
    client.on('error', () => {});
    client.on('notification', ({ payload = '' }) => this.#receive(payload));
    this.#client = client;
    try {
      // `connect` of `pg` 8.23 never settles if `end` is called meanwhile.
      await Promise.race([client.connect(), ended.then(() => Promise.reject(new Error('closed')))]);
      await client.query(`LISTEN ${client.escapeIdentifier(this.#settings.channel)}`);
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
    // The type declarations of `pg` lack this member.
    (client as pg.Client & { unref(): void }).unref();
    // This connection has missed earlier changes.
    this.#receiveForeign(undefined);
    this.#unsent.add(this.#self);
    this.#send();
    return { ended };
  }

  #receive(payload: string): void {
    const [sender, ...keys] = payload.split(' ');
    if (sender === this.#self) this.#isHeard = true;
    else for (const key of keys) this.#receiveForeign(key === ANY ? undefined : key);
  }

  #receiveForeign(key: string | undefined): void {
    this.#settings.onForeignChange(key);
    this.board.announce(key);
  }

  async #poll(): Promise<void> {
    let idleMs = 0;
    while (!this.#ending.signal.aborted) {
      await this.#pause(POLL_MS);
      idleMs += POLL_MS;
      if (this.#isHeard && idleMs < SAFETY_MS) continue;
      idleMs = 0;
      if (this.board.hasListeners) this.#receiveForeign(undefined);
    }
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#ending.signal, ref: false }).catch(() => {});
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import {
  DocumentConflictError,
  DocumentLimitError,
  EventOrderError,
  IdempotencyConflictError,
  NotFoundError,
  StaleEpochError,
  StorageLimitError,
  StoreUnavailableError,
  ThreadBusyError,
} from '@toolscript/core/ports';
import { ToolscriptUsageError } from '@toolscript/core/protocol';
import type { AnswerMessage, CallMessage, CallOf, ErrorMessage, MethodsOf, TableCalls, TableName } from './calls.js';
import { ChangeBoard } from './change-board.js';

/** The interval at which the worker thread polls for another process's writes while a caller waits for them, in ms. */
const POLL_MS = 50;

const ERRORS: Readonly<Record<string, new (message: string) => Error>> = {
  DocumentConflictError,
  DocumentLimitError,
  EventOrderError,
  IdempotencyConflictError,
  NotFoundError,
  StaleEpochError,
  StorageLimitError,
  StoreUnavailableError,
  ThreadBusyError,
};

interface OpenCall {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A database in a worker thread. The worker thread keeps the process alive only during a call. */
export class DatabaseThread implements TableCalls {
  /** Announces changes: those of this process at once, those of other processes within `POLL_MS`. */
  readonly board = new ChangeBoard(() => void this.#poll());
  readonly path: string;
  onForeignChange: TableCalls['onForeignChange'] = () => {};
  readonly #worker: Worker;
  readonly #calls = new Map<number, OpenCall>();
  #madeCount = 0;
  #isPolling = false;
  #failure: Error | undefined;
  #closing: Promise<void> | undefined;

  private constructor(path: string) {
    this.path = path;
    this.#worker = new Worker(new URL('database-worker.js', import.meta.url), { workerData: path, execArgv: [] });
    this.#worker.on('message', (message: AnswerMessage) => this.#settle(message));
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', () => this.#fail(undefined));
  }

  /** Rejects with a `StoreUnavailableError` if the file cannot be opened. */
  static async open(path: string): Promise<DatabaseThread> {
    const thread = new DatabaseThread(path);
    await new Promise<unknown>((resolve, reject) => thread.#calls.set(0, { resolve, reject }));
    return thread;
  }

  async call<Name extends TableName, Key extends keyof MethodsOf<Name> & string>(
    table: Name,
    method: Key,
    ...parameters: CallOf<Name, Key>['parameters']
  ): Promise<CallOf<Name, Key>['value']> {
    return this.#send(table, method, parameters) as Promise<CallOf<Name, Key>['value']>;
  }

  /** Announces a change to the readers of this process. Other processes poll the database. */
  announce(key?: string): void {
    this.board.announce(key);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.board.close();
    if (this.#failure !== undefined) return;
    this.#failure = closedError(this.path);
    const closed = new Promise<unknown>((resolve, reject) => this.#calls.set(-1, { resolve, reject }));
    this.#worker.ref();
    this.#worker.postMessage('close');
    await closed;
    await this.#worker.terminate();
  }

  #send(table: CallMessage['table'], method: string, parameters: readonly unknown[]): Promise<unknown> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    this.#madeCount += 1;
    const id = this.#madeCount;
    this.#worker.ref();
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      this.#worker.postMessage({ id, table, method, parameters } satisfies CallMessage);
    });
  }

  #settle(message: AnswerMessage): void {
    const call = this.#calls.get(message.id);
    this.#calls.delete(message.id);
    if (this.#calls.size === 0) this.#worker.unref();
    if ('error' in message) call?.reject(revive(message.error));
    else call?.resolve(message.value);
  }

  #fail(cause: Error | undefined): void {
    this.#failure ??= new StoreUnavailableError(
      `The worker thread of the database ${this.path} has ended. Open the store again.`,
      {
        cause,
      },
    );
    for (const { reject } of this.#calls.values()) reject(this.#failure);
    this.#calls.clear();
    this.board.close();
  }

  /**
   * Polls for writes of other processes. The first check announces a change too, because the database may have changed
   * before the first version was known.
   */
  async #poll(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    let known: unknown;
    while (this.board.hasListeners && this.#failure === undefined) {
      const version = await this.#send('database', 'version', []).catch(() => known);
      if (version !== known) this.onForeignChange();
      if (version !== known) this.board.announce();
      known = version;
      await delay(POLL_MS);
    }
    this.#isPolling = false;
  }
}

function closedError(path: string): Error {
  return new StoreUnavailableError(`${path} is closed. Open the store again.`);
}

function revive({ name, message, stack, mistake }: ErrorMessage): Error {
  if (mistake !== undefined) return new ToolscriptUsageError(...mistake);
  const Kind = ERRORS[name];
  if (Kind !== undefined) return new Kind(message);
  return Object.assign(new Error(message), { name, stack });
}

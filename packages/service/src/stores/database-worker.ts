import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { FairQueue } from '@toolscript/core/internal';
import { ToolscriptUsageError } from '@toolscript/core/protocol';
import type { AnswerMessage, CallMessage } from './calls.js';
import { isLargeRead, isSmallRead, dataOwner } from './read-calls.js';
import { describeFault } from './tables/faults.js';
import { tablesOver } from './tables/index.js';
import { callOutcome, LibsqlDatabase, type Outcome } from './tables/libsql-database.js';

/*
 * The worker thread of one database. SQLite is synchronous, and so is its wait for another process's transaction. In
 * each round, the thread answers the small reads, then commits the writes together, and then answers large reads for a
 * slice of time: a small call waits for no more than one slice, whoever reads much.
 */

type Message = CallMessage | 'close';
type OpenTables = Awaited<ReturnType<typeof openTables>>;

/** Maximum number of writes that are committed together. */
const MAX_WRITES = 100;

/** The time after which a round begins no further large read, in ms. */
const SLICE_MS = 4;

const path = workerData as string;
const port = parentPort!;

class Rounds {
  readonly #tables: OpenTables;
  #arrived: Message[] = [];
  readonly #reads: CallMessage[] = [];
  readonly #writes: CallMessage[] = [];
  readonly #largeReads = new FairQueue<CallMessage>(Number.POSITIVE_INFINITY);
  #isClosing = false;
  #isWorking = false;

  constructor(tables: OpenTables) {
    this.#tables = tables;
  }

  receive(message: Message): void {
    this.#arrived.push(message);
    if (this.#isWorking) return;
    this.#isWorking = true;
    void this.#work().finally(() => (this.#isWorking = false));
  }

  async #work(): Promise<void> {
    do {
      await this.#sort([...this.#arrived.splice(0), ...waitingMessages()]);
      for (const message of this.#reads.splice(0)) await this.#answer(message);
      await this.#write(this.#writes.splice(0, MAX_WRITES));
      await this.#readMuch();
    } while (this.#arrived.length + this.#reads.length + this.#writes.length + this.#largeReads.size > 0);
    if (this.#isClosing) close(this.#tables);
  }

  async #sort(messages: readonly Message[]): Promise<void> {
    for (const message of messages) {
      if (message === 'close') this.#isClosing = true;
      else if (isLargeRead(message)) await this.#addLarge(message);
      else if (isSmallRead(message)) this.#reads.push(message);
      else this.#writes.push(message);
    }
  }

  async #addLarge(message: CallMessage): Promise<void> {
    const principal = await dataOwner(this.#tables.database, message).catch(() => undefined);
    // defence: large-reads-take-turns
    this.#largeReads.add(message, { principal, waitMs: Number.POSITIVE_INFINITY }, () => {});
  }

  async #write(messages: readonly CallMessage[]): Promise<void> {
    const calls = messages.map((message) => () => call(this.#tables, message));
    const outcomes = await this.#tables.database.together(calls);
    for (const [index, { id }] of messages.entries()) answer(id, outcomes[index]!);
  }

  async #readMuch(): Promise<void> {
    const end = performance.now() + SLICE_MS;
    for (let next = this.#largeReads.next(); next !== undefined; next = this.#largeReads.next()) {
      await this.#answer(next);
      // defence: large-reads-in-slices
      if (performance.now() >= end) return;
    }
  }

  async #answer(message: CallMessage): Promise<void> {
    answer(message.id, await callOutcome(() => call(this.#tables, message)));
  }
}

try {
  const rounds = new Rounds(await openTables(path));
  port.on('message', (message: Message) => rounds.receive(message));
  answer(0, { value: undefined });
} catch (error) {
  answer(0, { error });
}

/** Opens all tables of a file. Rejects if the file cannot be opened. */
async function openTables(file: string) {
  const database = await LibsqlDatabase.open(file);
  return { database, ...tablesOver(database) };
}

/** The messages that have arrived during other calls. */
function waitingMessages(): Message[] {
  const messages: Message[] = [];
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port))
    messages.push((next as { readonly message: Message }).message);
  return messages;
}

function close(tables: OpenTables): void {
  try {
    tables.database.close();
    answer(-1, { value: undefined });
  } catch (error) {
    answer(-1, { error });
  }
  port.close();
}

async function call(tables: OpenTables, { table, method, parameters }: CallMessage): Promise<unknown> {
  tables.database.requireFile();
  const target = tables[table] as unknown as Record<string, (...parameters: readonly unknown[]) => unknown>;
  return target[method]!(...parameters);
}

function answer(id: number, outcome: Outcome<unknown>): void {
  if (!('error' in outcome)) return post({ id, value: outcome.value });
  const error = describeFault(outcome.error, path);
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  const mistake = error instanceof ToolscriptUsageError ? error.mistake : undefined;
  post({ id, error: { name, message, stack, mistake } });
}

function post(message: AnswerMessage): void {
  port.postMessage(message);
}

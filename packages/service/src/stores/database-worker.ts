import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { ToolscriptUsageError } from '@toolscript/core/protocol';
import type { AnswerMessage, CallMessage } from './calls.js';
import { describeFault } from './tables/faults.js';
import { tablesOver } from './tables/index.js';
import { LibsqlDatabase, type Outcome } from './tables/libsql-database.js';

/*
 * The worker thread of one database. SQLite is synchronous, and so is its wait for another process's transaction. The
 * worker thread answers calls in order. Calls that arrive during other calls are committed together.
 */

type Message = CallMessage | 'close';
type OpenTables = Awaited<ReturnType<typeof openTables>>;

/** Maximum number of calls that are committed together. */
const MAX_CALLS = 100;

const path = workerData as string;
const port = parentPort!;

try {
  const tables = await openTables(path);
  /** Resolves after all calls so far. */
  let received = Promise.resolve();
  port.on('message', (message: Message) => {
    received = received.then(() => receive(tables, message));
  });
  answer(0, { value: undefined });
} catch (error) {
  answer(0, { error });
}

/** Opens all tables of a file. Rejects if the file cannot be opened. */
async function openTables(file: string) {
  const database = await LibsqlDatabase.open(file);
  return { database, ...tablesOver(database) };
}

async function receive(tables: OpenTables, first: Message): Promise<void> {
  const messages = [first, ...waitingMessages()];
  const calls = messages.filter((message) => message !== 'close');
  const outcomes = await tables.database.together(calls.map((message) => () => call(tables, message)));
  for (const [index, { id }] of calls.entries()) answer(id, outcomes[index]!);
  if (calls.length < messages.length) close(tables);
}

function waitingMessages(): Message[] {
  const messages: Message[] = [];
  while (messages.length < MAX_CALLS) {
    const received = receiveMessageOnPort(port) as { readonly message: Message } | undefined;
    if (received === undefined) break;
    messages.push(received.message);
  }
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

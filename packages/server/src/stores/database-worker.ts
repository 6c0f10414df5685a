import { parentPort, workerData } from 'node:worker_threads';
import type { AnswerMessage, CallMessage } from './calls.js';
import { describeFault } from './tables/faults.js';
import { openTables, type Tables } from './tables/index.js';

/*
 * The thread of one database: SQLite is synchronous, and so is the wait for another process's transaction. Calls are
 * answered in their order.
 */

const path = workerData as string;
const port = parentPort!;

answer(0, () => {
  const tables = openTables(path);
  port.on('message', (message: CallMessage | 'close') => {
    if (message !== 'close') return answer(message.id, () => call(tables, message));
    answer(-1, () => tables.database.close());
    port.close();
  });
});

function call(tables: Tables, { table, method, parameters }: CallMessage): unknown {
  const target = tables[table] as unknown as Record<string, (...parameters: readonly unknown[]) => unknown>;
  return target[method]!(...parameters);
}

function answer(id: number, action: () => unknown): void {
  let message: AnswerMessage;
  try {
    message = { id, value: action() };
  } catch (thrown) {
    const error = describeFault(thrown, path);
    const { name, message: text, stack } = error instanceof Error ? error : new Error(String(error));
    message = { id, error: { name, message: text, stack } };
  }
  port.postMessage(message);
}

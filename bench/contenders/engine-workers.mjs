import { Worker } from 'node:worker_threads';
import { callWithJson } from './tools.mjs';

/**
 * Worker threads for engines without their own: a script runs on the least loaded thread, and all data that is
 * ready in one tick is sent in one message, in both directions.
 *
 * @param {URL} entry Its module calls `serveScripts`.
 * @param {number} size
 * @returns {Promise<import('./tools.mjs').Session>}
 */
export async function openWorkers(entry, size) {
  const threads = await Promise.all(Array.from({ length: size }, () => startThread(entry)));
  let lastRun = 0;
  return {
    run: (source) =>
      new Promise((resolve, reject) => {
        const thread = threads.reduce((best, other) => (other.runs.size < best.runs.size ? other : best));
        const run = ++lastRun;
        thread.runs.set(run, { resolve, reject });
        thread.send({ run, source });
      }),
    close: async () => {
      await Promise.all(threads.map(({ worker }) => worker.terminate()));
    },
  };
}

async function startThread(entry) {
  const worker = new Worker(entry);
  await new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  const thread = { worker, runs: new Map(), send: batchedPost(worker) };
  worker.on('message', (messages) => {
    for (const message of messages) receive(thread, message);
  });
  worker.on('error', (error) => {
    for (const { reject } of thread.runs.values()) reject(error);
  });
  return thread;
}

function receive(thread, message) {
  const { run } = message;
  if (message.call !== undefined) {
    const answer = (json) => thread.send({ run, call: message.call, json });
    callWithJson(message.name, message.argsJson).then(answer, (error) => thread.runs.get(run)?.reject(error));
    return;
  }
  const { resolve, reject } = thread.runs.get(run);
  thread.runs.delete(run);
  if (message.error === undefined) resolve(message.value);
  else reject(new Error(message.error));
}

/** Collects messages until the end of the tick. */
export function batchedPost(port) {
  let outgoing = [];
  return (message) => {
    if (outgoing.push(message) > 1) return;
    queueMicrotask(() => {
      const messages = outgoing;
      outgoing = [];
      port.postMessage(messages);
    });
  };
}

import { parentPort } from 'node:worker_threads';
import { batchedPost } from './engine-workers.mjs';

/**
 * The worker's side of `openWorkers`.
 *
 * @param {(source: string, callTool: (name: string, argsJson: string) => Promise<string>) => Promise<unknown>} runScript
 */
export function serveScripts(runScript) {
  const send = batchedPost(parentPort);
  const pending = new Map();
  let lastCall = 0;
  parentPort.on('message', (messages) => {
    for (const { run, source, call, json } of messages) {
      if (call === undefined) start(run, source);
      else settle(call, json);
    }
  });
  parentPort.postMessage('ready');

  function start(run, source) {
    const callTool = (name, argsJson) =>
      new Promise((resolve) => {
        const call = ++lastCall;
        pending.set(call, resolve);
        send({ run, call, name, argsJson });
      });
    runScript(source, callTool).then(
      (value) => send({ run, value }),
      (error) => send({ run, error: String(error?.stack ?? error) }),
    );
  }

  function settle(call, json) {
    pending.get(call)(json);
    pending.delete(call);
  }
}

// A sandbox worker whose guest writes a message that no bridge writes, if a script's source requests it.
import { parentPort } from 'node:worker_threads';

const forged = new Set();
const listen = parentPort.on.bind(parentPort);
parentPort.on = (name, execute) =>
  listen(name, (commands) => {
    for (const [type, run, start] of commands)
      if (type === 'run' && start.javascript?.includes('FORGE')) forged.add(run);
    execute(commands);
  });
const post = parentPort.postMessage.bind(parentPort);
parentPort.postMessage = (message) => {
  if (Array.isArray(message))
    for (const report of message) if (forged.delete(report[0])) report[2] = report[2].replace('"echo"', '"echo",7,7,7');
  post(message);
};
await import('../../../dist/sandbox/worker/entry.js');

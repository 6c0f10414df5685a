// A sandbox worker with planted faults: the thread hangs or ends if a script's source requests it.
import { parentPort } from 'node:worker_threads';
import { Control } from '../../../dist/sandbox/worker/link.js';

let control;
const listenOnce = parentPort.once.bind(parentPort);
parentPort.once = (name, begin) =>
  listenOnce(name, (birth) => {
    control = new Control(birth.control);
    begin(birth);
  });
const listen = parentPort.on.bind(parentPort);
parentPort.on = (name, execute) =>
  listen(name, (commands) => {
    for (const command of commands) plant(command);
    execute(commands);
  });
await import('../../../dist/sandbox/worker/entry.js');

function plant([type, run, start]) {
  if (type !== 'run' || start.javascript === undefined) return;
  const { javascript } = start;
  if (javascript.includes('FAULT_HANG')) {
    control.enter(run);
    for (;;);
  }
  if (javascript.includes('FAULT_EXIT')) {
    control.enter(run);
    process.exit(7);
  }
}

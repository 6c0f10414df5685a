// A worker thread that reports the settings of its start to its test, over a channel named `surroundings`.
import { BroadcastChannel, resourceLimits } from 'node:worker_threads';

const channel = new BroadcastChannel('surroundings');
channel.postMessage({
  env: { ...process.env },
  argv: process.argv.slice(2),
  execArgv: process.execArgv,
  resourceLimits,
});
channel.close();
await import('#core/sandbox/worker/entry.js');

// A worker thread that tells its test, over a channel named `surroundings`, what it was started with.
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

// A worker thread that asks its test, over a channel named `births`, whether it may start.
import { BroadcastChannel, threadId } from 'node:worker_threads';

const channel = new BroadcastChannel('births');
const answer = new Promise((resolve) => {
  channel.addEventListener('message', ({ data }) => {
    if (data.threadId === threadId && 'lives' in data) resolve(data.lives);
  });
});
channel.postMessage({ threadId });
const lives = await answer;
channel.close();
if (!lives) process.exit(1);
await import('#core/sandbox/worker/entry.js');

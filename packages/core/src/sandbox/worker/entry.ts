import { once } from 'node:events';
import { parentPort } from 'node:worker_threads';
import { yieldToHost } from './low-priority.js';
import type { WorkerBirth } from './messages.js';
import { SandboxThread } from './sandbox-thread.js';

yieldToHost();
const port = parentPort!;
const [birth] = (await once(port, 'message')) as [WorkerBirth];
new SandboxThread(port, birth).serve();

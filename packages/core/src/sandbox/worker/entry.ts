import { once } from 'node:events';
import { parentPort } from 'node:worker_threads';
import type { WorkerBirth } from './messages.js';
import { SandboxThread } from './sandbox-thread.js';

const port = parentPort!;
const [birth] = (await once(port, 'message')) as [WorkerBirth];
new SandboxThread(port, birth).serve();

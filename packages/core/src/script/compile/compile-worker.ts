import { parentPort } from 'node:worker_threads';
import { rewriteForLabels } from '../label-rewrite/rewrite.js';
import type { ThreadMessage, ThreadRequest } from './compile-messages.js';
import { compileSource } from './compile-source.js';

/** The compiler's worker thread answers one request at a time. */
const port = parentPort;
if (port !== null) {
  const say = (message: ThreadMessage): void => port.postMessage(message);
  port.on('message', (request: ThreadRequest) => {
    try {
      say({ type: 'answer', answer: answerTo(request) });
    } catch (error) {
      say({ type: 'broken', detail: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
  warmUp();
  say({ type: 'ready' });
}

function answerTo(request: ThreadRequest) {
  return 'javascript' in request ? rewriteForLabels(request) : compileSource(request);
}

/** Loads the modules that the first script would wait for. */
function warmUp(): void {
  compileSource({
    source: 'const value: number = (await tools.none({ a: [1] })).b;\nreturn `${value}`;',
    toolNames: [],
    wantsFacts: true,
  });
}

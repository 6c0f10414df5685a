import { parentPort } from 'node:worker_threads';
import type { CompileRequest, ThreadMessage } from './compile-messages.js';
import { compileSource } from './compile-source.js';

/** The compiler's worker thread answers one request at a time. */
const port = parentPort;
if (port !== null) {
  const say = (message: ThreadMessage): void => port.postMessage(message);
  port.on('message', (request: CompileRequest) => {
    try {
      say({ type: 'answer', answer: compileSource(request) });
    } catch (error) {
      say({ type: 'broken', detail: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
  warmUp();
  say({ type: 'ready' });
}

/** Loads the modules that the first script would wait for. */
function warmUp(): void {
  compileSource({
    source: 'const value: number = (await tools.none({ a: [1] })).b;\nreturn `${value}`;',
    toolNames: [],
    wantsFacts: true,
  });
}

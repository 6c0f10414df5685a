import { peerVersion } from './peers.mjs';
import { openWorkers } from './engine-workers.mjs';

/** @returns {Promise<import('./tools.mjs').Contender>} */
export async function loadQuickJsEmscripten() {
  const version = peerVersion('quickjs-emscripten');
  const entry = new URL('./quickjs-emscripten-worker.mjs', import.meta.url);
  return {
    name: 'quickjs-emscripten',
    role: 'peer',
    version,
    note: 'getQuickJS in worker threads, a new context and lockdown per script; calls are host promises, one message a tick each way',
    open: ({ workers }) => openWorkers(entry, workers),
  };
}

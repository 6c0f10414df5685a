import { peerVersion } from './peers.mjs';
import { openWorkers } from './engine-workers.mjs';

/** @returns {Promise<import('./tools.mjs').Contender>} */
export async function loadSebastianwesselQuickJs() {
  const version = peerVersion('@sebastianwessel/quickjs');
  const entry = new URL('./sebastianwessel-quickjs-worker.mjs', import.meta.url);
  return {
    name: '@sebastianwessel/quickjs',
    role: 'peer',
    version,
    note: 'runSandboxed in worker threads, a new context per script without lockdown; calls are functions in `env`',
    open: ({ workers }) => openWorkers(entry, workers),
  };
}

import { importablePeer, peerVersion } from './peers.mjs';
import { Places } from './places.mjs';
import { TOOLS } from './tools.mjs';

const LIMITS = { maxBridgeRequests: 2_000, maxInFlightBridgeRequests: 1_000 };

/**
 * The whole process has one pool, which rejects scripts above its maximum, so callers wait for a place here.
 *
 * @returns {Promise<import('./tools.mjs').Contender>}
 */
export async function loadRun() {
  const version = peerVersion('run');
  const { createRunner, setMaxWorkers } = await import(importablePeer('run'));
  return {
    name: 'run',
    role: 'peer',
    version,
    note: 'createRunner().run: a fresh context per script in its own worker pool; its types are not checked and not stripped here',
    open: async ({ workers }) => {
      setMaxWorkers(workers);
      const runner = createRunner({ limits: LIMITS });
      const places = new Places(workers);
      return {
        run: (source) =>
          places.hold(async () => {
            const result = await runner.run({ source, hostFunctions: { tools: TOOLS } });
            if (result.status !== 'completed') throw new Error(result.status);
            return result.value;
          }),
        close: async () => {},
      };
    },
  };
}

import { LOCKDOWN } from './lockdown.mjs';
import { peerVersion, requirePeer } from './peers.mjs';
import { Places } from './places.mjs';
import { callWithJson } from './tools.mjs';

const PRELUDE = `${LOCKDOWN}
const tools = (() => {
  const host = $call;
  delete globalThis.$call;
  const options = { result: { promise: true } };
  const call = async (name, args) => JSON.parse(await host.apply(undefined, [name, JSON.stringify(args)], options));
  return Object.freeze({ echo: (args) => call('echo', args), wait: (args) => call('wait', args) });
})();`;

/** Maximum number of live isolates, because each has its own heap. */
const MAX_ISOLATES = 100;

/** @returns {Promise<import('./tools.mjs').Contender>} */
export async function loadIsolatedVm() {
  const version = peerVersion('isolated-vm');
  const ivm = requirePeer('isolated-vm');
  return {
    name: 'isolated-vm',
    role: 'peer',
    version,
    note: 'a new Isolate and lockdown per script, run on its own threads in this very process; calls through a Reference with JSON text',
    open: async () => {
      const places = new Places(MAX_ISOLATES);
      const callReference = new ivm.Reference(callWithJson);
      return { run: (source) => places.hold(() => runInIsolate(ivm, callReference, source)), close: async () => {} };
    },
  };
}

async function runInIsolate(ivm, callReference, source) {
  const isolate = new ivm.Isolate({ memoryLimit: 96 });
  try {
    const context = await isolate.createContext();
    await context.global.set('$call', callReference);
    return await context.eval(`${PRELUDE}\n(async function () {\n${source}\n})()`, {
      promise: true,
      copy: true,
      timeout: 30_000,
    });
  } finally {
    isolate.dispose();
  }
}

import { loadIsolatedVm } from './isolated-vm.mjs';
import { loadQuickJsEmscripten } from './quickjs-emscripten.mjs';
import { loadRun } from './run.mjs';
import { loadSandbox } from './sandbox.mjs';
import { loadSebastianwesselQuickJs } from './sebastianwessel-quickjs.mjs';
import { loadToolscript } from './toolscript.mjs';

const PEERS = {
  run: loadRun,
  'quickjs-emscripten': loadQuickJsEmscripten,
  'isolated-vm': loadIsolatedVm,
  '@sebastianwessel/quickjs': loadSebastianwesselQuickJs,
};

/** Contenders that are slow and have no budget, which quick runs omit. */
const LEFT_OUT_OF_QUICK_RUNS = new Set(['@sebastianwessel/quickjs']);

/**
 * Toolscript must load; a peer that cannot load is omitted, with a reason.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<{ contenders: import('./tools.mjs').Contender[], missing: { name: string, reason: string }[] }>}
 */
export async function loadContenders({ quick }) {
  const contenders = [await loadToolscript(), await loadSandbox()];
  const missing = [];
  for (const [name, load] of Object.entries(PEERS)) {
    if (quick && LEFT_OUT_OF_QUICK_RUNS.has(name)) {
      missing.push({ name, reason: 'left out of quick runs' });
      continue;
    }
    try {
      const contender = await load();
      await tryOut(contender);
      contenders.push(contender);
    } catch (error) {
      missing.push({ name, reason: reasonOf(error) });
    }
  }
  return { contenders, missing };
}

async function tryOut(contender) {
  const session = await contender.open({ workers: 1 });
  const value = await session.run('return (await tools.echo({ i: 41 })).i + 1');
  await session.close();
  if (value !== 42) throw new Error(`it answers ${JSON.stringify(value)} instead of 42`);
}

function reasonOf(error) {
  if (error?.code === 'MODULE_NOT_FOUND') return 'installed, but not compiled';
  return String(error instanceof Error ? error.message : error).split('\n', 1)[0];
}

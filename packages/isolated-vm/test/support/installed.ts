import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/** `npm run test:isolated-vm` installs the package into a separate folder, and names that. */
const named = process.env['TOOLSCRIPT_ISOLATED_VM'];
const FOLDERS = [...(named === undefined ? [] : [pathToFileURL(`${named}/`).href]), './', '../../../../bench/peers/'];

/** The optional package, where it is installed: in a named folder, for this repository, or for its benchmarks. */
export const isolatedVmPath = FOLDERS.map(resolveIn).find((path) => path !== undefined);

/** True if `isolatedVm` finds the package without a path. */
export const isInstalledBeside = resolveIn('./') !== undefined;

export const whyNoIsolatedVm =
  isolatedVmPath === undefined ? 'isolated-vm is not installed. Run: npm run test:isolated-vm' : undefined;

if (whyNoIsolatedVm !== undefined) {
  if (process.env['TOOLSCRIPT_DEMAND_ISOLATED_VM'] === '1') throw new Error(whyNoIsolatedVm);
  console.warn(`Tests of the isolated-vm runtime are skipped: ${whyNoIsolatedVm}`);
}

function resolveIn(folder: string): string | undefined {
  try {
    return createRequire(new URL(folder, import.meta.url)).resolve('isolated-vm');
  } catch {
    return undefined;
  }
}

import { createRequire } from 'node:module';

const FOLDERS = ['./', '../../../../../bench/peers/'];

/** The optional package, where it is installed: for this repository, or for its benchmarks. */
export const isolatedVmPath = FOLDERS.map(resolveIn).find((path) => path !== undefined);

export const whyNoIsolatedVm =
  isolatedVmPath === undefined
    ? 'isolated-vm is not installed. Run: npm install --no-save isolated-vm@5.0.4'
    : undefined;

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

import { coreFile, packageFile } from '../../files/core-files.js';
import { ToolscriptUsageError } from '../../protocol/index.js';

/** The releases of the package, by the oldest major release of Node.js that each accepts. */
const RELEASES = [
  [24, '7'],
  [22, '6'],
  [20, '5.0.4'],
] as const;

/** The path of the installed package. Throws a `ToolscriptUsageError` that says how to install it. */
export function isolatedVmFile(): string {
  try {
    return packageFile('isolated-vm');
  } catch {
    throw new ToolscriptUsageError(
      `The runtime "isolated-vm" needs the package isolated-vm, which is not installed. Run: ${isolatedVmInstall()}`,
    );
  }
}

/** The command that installs the release for this Node.js. */
export function isolatedVmInstall(): string {
  const major = Number.parseInt(process.versions.node, 10);
  return `npm install isolated-vm@${RELEASES.find(([least]) => major >= least)?.[1] ?? '5.0.4'}`;
}

export const childFile = (): URL => coreFile('sandbox/isolated-vm/child.js');
export const guestFile = (): URL => coreFile('sandbox/artefacts/isolate-guest.js');

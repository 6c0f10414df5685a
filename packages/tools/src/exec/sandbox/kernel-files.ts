import { lstatSync, readdirSync } from 'node:fs';

/** Options for bubblewrap that make the kernel's settings in the command's own `/proc` read-only. */
export function readOnlyKernelFiles(userId: number | undefined): string[] {
  // Users other than root cannot write these files; for root, the sandbox mounts its own `/proc` again.
  if (userId !== 0) return [];
  // defence: kernel-settings-read-only
  return kernelEntries().flatMap((path) => ['--ro-bind-try', path, path]);
}

/** The folders and writable files of `/proc`, except the folders of processes. */
function kernelEntries(): string[] {
  return readdirSync('/proc')
    .filter((name) => !/^\d+$/.test(name))
    .map((name) => `/proc/${name}`)
    .filter((path) => {
      const found = lstatSync(path, { throwIfNoEntry: false });
      return found !== undefined && (found.isDirectory() || (found.isFile() && (found.mode & 0o222) !== 0));
    });
}

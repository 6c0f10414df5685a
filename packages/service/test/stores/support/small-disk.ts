import { spawnSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, onTestFinished } from 'vitest';
import { newFolder } from '@toolscript/testkit/folder';

const canMount = process.platform === 'linux' && process.getuid?.() === 0 && isMountable();
if (!canMount) console.warn('Skipped: this user cannot mount a small file system. Run the tests as root on Linux.');

export function describeWithSmallDisk(name: string, laws: () => void): void {
  describe.skipIf(!canMount)(name, laws);
}

/** A folder with a separate file system, which can be filled. */
export class SmallDisk {
  readonly folder = newFolder();

  constructor(megabytes: number) {
    mount(this.folder, megabytes);
    onTestFinished(() => void spawnSync('umount', ['--lazy', this.folder]));
  }

  /** Leaves no room. */
  fill(): void {
    const { bavail, bsize } = statfsSync(this.folder);
    // The last block may be taken by another writer meanwhile.
    for (let left = bavail; left > 0; left = Math.floor(left / 2)) this.#write(left * bsize);
  }

  free(): void {
    for (const name of this.#ballast.splice(0)) rmSync(join(this.folder, name));
  }

  readonly #ballast: string[] = [];

  #write(bytes: number): void {
    const name = `ballast-${this.#ballast.length}`;
    this.#ballast.push(name);
    try {
      writeFileSync(join(this.folder, name), Buffer.alloc(bytes));
    } catch {
      // The file now fills the rest of the disk.
    }
  }
}

function mount(folder: string, megabytes: number): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0777`, 'tmpfs', folder]).status === 0;
}

function isMountable(): boolean {
  return spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;
}

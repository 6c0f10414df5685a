import type { SandboxedDisk } from './policy.js';
import type { SandboxPrograms } from './requirements.js';

/** What the host of the sandbox is asked; each is answered, but for `release`. */
export type SandboxRequest =
  | { id: number; kind: 'start'; programs: SandboxPrograms; allowedHosts: readonly string[] }
  | { id: number; kind: 'wrap'; command: string; disk: SandboxedDisk }
  | { kind: 'release' };

export type SandboxAnswer =
  /**
   * `line`: one line for `/bin/sh -c`, which starts the command inside; empty for `start`. `filter`: what the line
   * reads on its descriptor 3, in base 64; empty where it reads nothing.
   */
  | { id: number; ok: true; line: string; filter: string }
  | { id: number; ok: false; reason: string; isTooLong: boolean };

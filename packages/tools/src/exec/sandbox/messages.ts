import type { SandboxedDisk } from './policy.js';
import type { SandboxPrograms } from './requirements.js';

/** Requests to the sandbox's host. Each response has the number of its request. */
export type SandboxRequest =
  | { id: number; kind: 'start'; programs: SandboxPrograms; allowedHosts: readonly string[] }
  | { id: number; kind: 'wrap'; command: string; disk: SandboxedDisk }
  /** The command of the `wrap` with this number has ended. */
  | { id: number; kind: 'finish'; wrap: number };

/**
 * An entry that a command created or changed, and that other programs would execute or obey. `movedTo` is empty if the
 * entry could not be moved.
 */
export interface MovedEntry {
  readonly path: string;
  readonly movedTo: string;
  readonly reason: string;
}

export type SandboxAnswer =
  | { id: number; ok: true; wrapped?: WrappedCommand; moved?: readonly MovedEntry[] }
  | { id: number; ok: false; reason: string; isTooLong: boolean };

export interface WrappedCommand {
  /** One line for `/bin/sh -c` that starts the command inside the sandbox. */
  readonly line: string;
  /** Data for the line's descriptors from 3 on, in base64. */
  readonly inputs: readonly string[];
}

import type { SandboxedDisk } from './policy.js';
import type { SandboxPrograms } from './requirements.js';

/** What the host of the sandbox is asked; each is answered by its number. */
export type SandboxRequest =
  | { id: number; kind: 'start'; programs: SandboxPrograms; allowedHosts: readonly string[] }
  | { id: number; kind: 'wrap'; command: string; disk: SandboxedDisk }
  /** The command of the `wrap` with this number has ended. */
  | { id: number; kind: 'finish'; wrap: number };

/** Something that a command made and others would execute or obey. `movedTo` is empty where it could not be moved. */
export interface MovedEntry {
  readonly path: string;
  readonly movedTo: string;
  readonly reason: string;
}

export type SandboxAnswer =
  | { id: number; ok: true; wrapped?: WrappedCommand; moved?: readonly MovedEntry[] }
  | { id: number; ok: false; reason: string; isTooLong: boolean };

export interface WrappedCommand {
  /** One line for `/bin/sh -c`, which starts the command inside. */
  readonly line: string;
  /** What the line reads on its descriptors from 3 on, in base 64. */
  readonly inputs: readonly string[];
}

import type { SandboxedDisk } from './policy.js';
import type { SandboxPrograms } from './requirements.js';

/** Requests to the sandbox's host. Each response has the number of its request. */
export type SandboxRequest =
  | { id: number; kind: 'start'; programs: SandboxPrograms; allowedHosts: readonly string[] }
  | { id: number; kind: 'wrap'; command: string; disk: SandboxedDisk }
  /** The command of the `wrap` with this number has ended. */
  | { id: number; kind: 'finish'; wrap: number };

/** An entry that a command created or changed, that other programs would execute or obey, and that was moved away. */
export interface MovedEntry {
  readonly path: string;
  /** The entry's name in the quarantine folder. */
  readonly movedTo: string;
  readonly reason: string;
}

/** A place that may contain protected entries. `reason` is why it could not be checked or moved away. */
export interface UncheckedPlace {
  readonly path: string;
  readonly reason: string;
}

/** The state of the workspace after a command. */
export interface Aftermath {
  readonly moved: readonly MovedEntry[];
  readonly unchecked: readonly UncheckedPlace[];
}

export type SandboxAnswer =
  | {
      id: number;
      ok: true;
      wrapped?: WrappedCommand | undefined;
      aftermath?: Aftermath | undefined;
      unchecked?: readonly UncheckedPlace[] | undefined;
    }
  | { id: number; ok: false; reason: string; isTooLong: boolean };

export interface WrappedCommand {
  /** One line for `/bin/sh -c` that starts the command inside the sandbox. */
  readonly line: string;
  /** Data for the line's descriptors from 3 on, in base64. */
  readonly inputs: readonly string[];
}

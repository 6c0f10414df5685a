import { closeSync, constants, fstatSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { AuditEntry } from '@toolscript/core';

/** Appends entries to a file, one line and one write each. Made with the first entry. */
export class AuditFile {
  readonly #path: string;
  #file: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  readonly append = (entry: AuditEntry): void => {
    this.#file ??= openForAppend(this.#path);
    writeSync(this.#file, `${JSON.stringify(entry)}\n`);
  };

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}

function openForAppend(path: string): number {
  const { O_APPEND, O_CREAT, O_WRONLY } = constants;
  // defence: audit-no-follow, without it: const flags = O_APPEND | O_CREAT | O_WRONLY;
  const flags = O_APPEND | O_CREAT | O_WRONLY | constants.O_NOFOLLOW;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const file = openSync(path, flags, 0o600);
  // defence: audit-regular-file, without it: if (fstatSync(file).size >= 0) return file;
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw new Error(`${path} is no regular file`);
}

import { ToolscriptUsageError, withFileLock, writePrivateFile } from '@toolscript/core';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { z } from 'zod';

/**
 * A JSON file that only its owner can read and write (0600). A missing folder is created for the owner alone (0700).
 * Each write replaces the whole file atomically. Operations of one object run in order.
 */
export class PrivateJsonFile<Schema extends z.ZodType> {
  readonly #path: string;
  readonly #schema: Schema;
  readonly #empty: z.infer<Schema>;
  readonly #advice: string;
  #last: Promise<unknown> = Promise.resolve();

  /** `empty`: the content of a missing file. `advice`: the last sentence of the message about an unusable file. */
  constructor(path: string, { schema, empty, advice }: { schema: Schema; empty: z.infer<Schema>; advice: string }) {
    this.#path = path;
    this.#schema = schema;
    this.#empty = empty;
    this.#advice = advice;
  }

  /** Reads the content. Rejects with a `ToolscriptUsageError` that names the file if the file is unusable. */
  read(): Promise<z.infer<Schema>> {
    return this.#inTurn(() => this.#readNow());
  }

  update(change: (content: z.infer<Schema>) => z.infer<Schema>): Promise<void> {
    return this.#inTurn(async () => {
      try {
        await withFileLock(this.#path, async () => this.#write(change(await this.#readNow())));
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === undefined) throw error;
        throw new ToolscriptUsageError(
          `The file "${this.#path}" cannot be written (${code}). Free disk space, or make its folder writable.`,
        );
      }
    });
  }

  #inTurn<Result>(act: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(act, act);
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #readNow(): Promise<z.infer<Schema>> {
    let text: string;
    try {
      text = await readFile(this.#path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return this.#empty;
      throw this.#unusable((error as Error).message);
    }
    try {
      return this.#schema.parse(JSON.parse(text));
    } catch {
      throw this.#unusable('it is damaged, or has an unknown version');
    }
  }

  #unusable(reason: string): ToolscriptUsageError {
    return new ToolscriptUsageError(`The file "${this.#path}" cannot be used: ${reason}. ${this.#advice}`);
  }

  async #write(content: z.infer<Schema>): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    await writePrivateFile(this.#path, `${JSON.stringify(content, undefined, 2)}\n`);
  }
}

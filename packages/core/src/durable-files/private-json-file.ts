import { readFile } from 'node:fs/promises';
import type { z } from 'zod';
import { ToolscriptUsageError } from '../protocol/index.js';
import { withFileLock } from './file-lock.js';
import { writePrivateFile } from './private-file.js';

/**
 * A JSON file for its owner alone, which several processes may change. Each write replaces the whole file atomically.
 * Operations of one object run in order.
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
        throw new ToolscriptUsageError('PRIVATE_FILE_NOT_WRITABLE', { path: this.#path, code });
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
    return new ToolscriptUsageError('PRIVATE_FILE_UNUSABLE', { path: this.#path, reason, advice: this.#advice });
  }

  #write(content: z.infer<Schema>): Promise<void> {
    return writePrivateFile(this.#path, `${JSON.stringify(content, undefined, 2)}\n`);
  }
}

import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, open, realpath, rename, stat, unlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { visibleLine } from '../terminal/untrusted.js';
import { systemCode, UsageError } from '../usage-error.js';

/** A file for a final answer. Other programs never see a partial answer in a regular file. */
export class AnswerFile {
  readonly #givenPath: string;
  /** The real path, so that writing does not replace a symbolic link. */
  readonly #path: string;
  /** True for a device or a pipe, which cannot be replaced. */
  readonly #isSpecial: boolean;
  readonly #mode: number | undefined;

  private constructor(given: string, path: string, found: { isSpecial: boolean; mode: number | undefined }) {
    this.#givenPath = given;
    this.#path = path;
    this.#isSpecial = found.isSpecial;
    this.#mode = found.mode;
  }

  /**
   * Checks that the file can be written, without leaving a new file. Throws a UsageError if the file cannot be written.
   */
  static async open(given: string): Promise<AnswerFile> {
    try {
      const path = await realpath(given).catch(() => resolve(given));
      const found = await stat(path).catch((error: unknown) => absent(error));
      if (found?.isDirectory() === true)
        throw new UsageError(`${visibleLine(given)} is a folder. Name a file in it: -o ${visibleLine(given)}/answer`);
      if (found !== undefined) await access(path, constants.W_OK);
      const isSpecial = found !== undefined && !found.isFile();
      const mode = found === undefined ? undefined : found.mode & 0o777;
      const file = new AnswerFile(given, path, { isSpecial, mode });
      if (!isSpecial) await unlink(await file.#writeBeside(''));
      return file;
    } catch (error) {
      throw unwritable(given, error);
    }
  }

  async write(text: string): Promise<void> {
    try {
      if (this.#isSpecial) return await writeFile(this.#path, text);
      await rename(await this.#writeBeside(text), this.#path);
    } catch (error) {
      throw unwritable(this.#givenPath, error);
    }
  }

  /** Writes a new file in the folder of the answer file. Returns the path of the new file. */
  async #writeBeside(text: string): Promise<string> {
    const path = join(dirname(this.#path), `.${basename(this.#path).slice(0, 100)}.${randomUUID()}.tmp`);
    const handle = await open(path, 'wx');
    try {
      if (this.#mode !== undefined) await handle.chmod(this.#mode);
      await handle.writeFile(text);
      await handle.sync();
    } catch (error) {
      await unlink(path);
      throw error;
    } finally {
      await handle.close();
    }
    return path;
  }
}

function absent(error: unknown): undefined {
  if (systemCode(error) !== 'ENOENT') throw error;
}

function unwritable(given: string, error: unknown): unknown {
  const code = systemCode(error);
  const name = visibleLine(given);
  if (code === undefined) return error;
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return new UsageError(
      `${name} cannot be written: its folder does not exist. Create the folder, or name another file.`,
    );
  return new UsageError(`${name} cannot be written (${code}). Name a file that you can write to.`);
}

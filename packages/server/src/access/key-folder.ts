import { readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { readPrivateFile, writePrivateFile } from '@toolscript/core/internal';
import { StoreUnavailableError } from '@toolscript/core/ports';
import { ApiKeySchema, type ApiKey, type ApiKeyStore } from '@toolscript/service/stores';

const FILE = /^(?<keyId>key_[0-9a-f]{16})\.json$/u;

/**
 * API keys in a folder, one file each (0600). No operation reads, changes and rewrites a file, so several processes
 * may use the folder, and a server sees each change at the next request.
 */
export class KeyFolder implements ApiKeyStore {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Creates the complete file, or no file. Rejects with a `StoreUnavailableError`. */
  async add(key: ApiKey): Promise<void> {
    try {
      await writePrivateFile(this.#keyFile(key.keyId), `${JSON.stringify(key)}\n`);
    } catch (error) {
      throw this.#unavailable('written', error);
    }
  }

  async get(keyId: string): Promise<ApiKey | undefined> {
    if (!FILE.test(`${keyId}.json`)) return undefined;
    const file = readPrivateFile(this.#keyFile(keyId));
    if (file === undefined || 'problem' in file) return undefined;
    const parsed = ApiKeySchema.safeParse(jsonIn(file.bytes.toString('utf8')));
    return parsed.success && parsed.data.keyId === keyId ? parsed.data : undefined;
  }

  async list(): Promise<readonly ApiKey[]> {
    const ids = (await this.#names()).flatMap((name) => FILE.exec(name)?.groups?.['keyId'] ?? []);
    const keys = await Promise.all(ids.map((keyId) => this.get(keyId)));
    return keys
      .filter((key) => key !== undefined)
      .toSorted((one, other) => one.createdAt - other.createdAt || (one.keyId < other.keyId ? -1 : 1));
  }

  async delete(keyId: string): Promise<boolean> {
    if (!FILE.test(`${keyId}.json`)) return false;
    try {
      await unlink(this.#keyFile(keyId));
      return true;
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT' || systemErrorCode(error) === 'ENOTDIR') return false;
      throw this.#unavailable('written', error);
    }
  }

  #keyFile(keyId: string): string {
    return join(this.#path, `${keyId}.json`);
  }

  async #names(): Promise<readonly string[]> {
    try {
      return await readdir(this.#path);
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT') return [];
      throw this.#unavailable('read', error);
    }
  }

  #unavailable(verb: 'read' | 'written', error: unknown): StoreUnavailableError {
    const code = systemErrorCode(error) ?? 'unknown error';
    const fix = ['EACCES', 'EPERM'].includes(code)
      ? `Give your user ${verb === 'read' ? 'read' : 'write'} permission: chmod u+rwx ${this.#path}`
      : 'Check that the path is a folder, and that its disk accepts writes and has free space.';
    const message = `The API keys in ${this.#path} cannot be ${verb} (${code}). ${fix}`;
    return new StoreUnavailableError(message, { cause: error });
  }
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function systemErrorCode(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}

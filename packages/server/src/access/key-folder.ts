import { constants } from 'node:fs';
import { mkdir, open, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { writePrivateFile } from '@toolscript/core';
import { StoreUnavailableError } from '@toolscript/core/protocol';
import { ApiKeySchema, type ApiKey, type ApiKeyStore } from './api-keys.js';

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
      await mkdir(this.#path, { recursive: true, mode: 0o700 });
      await writePrivateFile(this.#fileOf(key.keyId), `${JSON.stringify(key)}\n`);
    } catch (error) {
      throw this.#unavailable('written', error);
    }
  }

  async get(keyId: string): Promise<ApiKey | undefined> {
    if (!FILE.test(`${keyId}.json`)) return undefined;
    const text = await readPrivate(this.#fileOf(keyId)).catch(() => undefined);
    const parsed = text === undefined ? undefined : ApiKeySchema.safeParse(jsonIn(text));
    return parsed?.success === true && parsed.data.keyId === keyId ? parsed.data : undefined;
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
      await unlink(this.#fileOf(keyId));
      return true;
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return false;
      throw this.#unavailable('written', error);
    }
  }

  #fileOf(keyId: string): string {
    return join(this.#path, `${keyId}.json`);
  }

  async #names(): Promise<readonly string[]> {
    try {
      return await readdir(this.#path);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw this.#unavailable('read', error);
    }
  }

  #unavailable(verb: 'read' | 'written', error: unknown): StoreUnavailableError {
    const code = codeOf(error) ?? 'unknown error';
    const fix = ['EACCES', 'EPERM'].includes(code)
      ? `Give your user ${verb === 'read' ? 'read' : 'write'} permission: chmod u+rwx ${this.#path}`
      : 'Check that the path is a folder, and that its disk accepts writes and has free space.';
    const message = `The API keys in ${this.#path} cannot be ${verb} (${code}). ${fix}`;
    return new StoreUnavailableError(message, { cause: error });
  }
}

/**
 * Reads a regular file of at most 64 KiB. Rejects for any other file and, except on Windows, for a file that other
 * users can access, because another user could have written the key.
 */
async function readPrivate(path: string): Promise<string> {
  // defence: key-files-no-follow, without it: const file = await open(path, constants.O_RDONLY);
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stat = await file.stat();
    // defence: key-files-for-user-alone, without it: const isShared = stat.mode < 0;
    const isShared = process.platform !== 'win32' && (stat.mode & 0o077) !== 0;
    if (isShared || !stat.isFile() || stat.size > 65_536)
      throw new Error(`${path} is not a private file. Run: chmod 600 ${path}`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}

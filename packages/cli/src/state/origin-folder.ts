import { mkdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { isThere } from '../configuration/read-json.js';
import { systemCode } from '../usage-error.js';

const OriginSchema = z.strictObject({
  /** The real path of the folder that its tools may access. */
  workspace: z.string(),
  /** `mcp`: a client of the gateway waits for the result. */
  command: z.enum(['run', 'eval', 'chat', 'mcp']),
  /** The conversation that it belongs to. */
  thread: z.string().optional(),
  /** Options that a later command must repeat to get the same tools. */
  options: z.array(z.string()),
});

/** The circumstances of a script's start. */
export type Origin = z.infer<typeof OriginSchema>;

/** The folder from which to inspect a script: its own workspace if it still exists, whatever the current folder is. */
export async function placeOf(origin: Origin | undefined): Promise<{ cwd?: string }> {
  return origin !== undefined && (await isThere(origin.workspace)) ? { cwd: origin.workspace } : {};
}

/** `origins/<script>.json`, written before any other data of the script. */
export class OriginFolder {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async note(scriptId: string, origin: Origin): Promise<void> {
    await mkdir(this.#path, { recursive: true, mode: 0o700 });
    await writeFile(this.#file(scriptId), `${JSON.stringify(origin)}\n`, { mode: 0o600, flush: true });
  }

  /** Undefined if it is unknown. */
  async of(scriptId: string): Promise<Origin | undefined> {
    try {
      return OriginSchema.parse(JSON.parse(await readFile(this.#file(scriptId), 'utf8')));
    } catch {
      return undefined;
    }
  }

  /** Idempotent. */
  async delete(scriptId: string): Promise<void> {
    try {
      await unlink(this.#file(scriptId));
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error;
    }
  }

  #file(scriptId: string): string {
    return join(this.#path, `${scriptId}.json`);
  }
}

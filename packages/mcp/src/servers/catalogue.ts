import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { PrivateJsonFile } from '@toolscript/core/internal';
import { z } from 'zod';
import type { ServerToStart } from '../configuration/server-config.js';
import type { ListedTools } from '../connection/connection.js';
import { hash, serverFingerprint } from '../trust/fingerprint.js';

/**
 * Stores the tools that each server listed last, so that a host can offer them before the server has started. They are
 * reviewed like those of a connected server: only trusted tools are offered.
 */
export interface CatalogueStore {
  /** The tools of this program or address; undefined if none are known. */
  read(server: ServerToStart): Promise<ListedTools | undefined>;
  write(server: ServerToStart, listed: ListedTools): Promise<void>;
}

const ListedSchema = z.object({
  items: z.array(z.unknown()),
  incomplete: z.string().optional(),
  hasResources: z.boolean().optional(),
  skipped: z.array(z.object({ name: z.string(), reason: z.string() })).optional(),
  notes: z.array(z.object({ name: z.string(), notes: z.array(z.string()) })).optional(),
});

const FileSchema = z.strictObject({ version: z.literal(1), listed: ListedSchema.optional() });

/** Keeps the tools of each server in a JSON file of the folder that only its owner can read and write (0600). */
export function fileCatalogue(folder: string): CatalogueStore {
  const catalogueFile = (server: ServerToStart) => {
    const key = hash([server.name, serverFingerprint(server)]);
    return new PrivateJsonFile(join(folder, `${key}.json`), {
      schema: FileSchema,
      empty: { version: 1 },
      advice: 'Delete it. The tools are listed again when the server starts.',
    });
  };
  return {
    read: async (server) => {
      const { listed } = await catalogueFile(server).read();
      return listed && { ...listed, incomplete: listed.incomplete };
    },
    async write(server, listed) {
      const file = catalogueFile(server);
      const content = FileSchema.parse({ version: 1, listed: JSON.parse(JSON.stringify(listed)) });
      const known = await file.read().catch(() => undefined);
      if (!isDeepStrictEqual(known, content)) await file.update(() => content);
    },
  };
}

import { join } from 'node:path';
import { z } from 'zod';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import type { UserFolder } from './locations.js';
import { demandOutside } from './own-paths.js';
import { readJsonFile } from './read-json.js';
import { deleteFile, fileNameOf, writeJsonFile } from './write-json.js';

/** `trusted/HASH.json`. */
const TrustSchema = z.strictObject({ folder: z.string() });

/** Whether the user said that this workspace's own configuration counts. `folder` has no links in it. */
export async function isTrusted(user: UserFolder, folder: string): Promise<boolean> {
  const path = fileOf(user, folder);
  demandOutside(path, folder);
  const value = await readJsonFile(path);
  if (value === undefined) return false;
  const result = TrustSchema.safeParse(value);
  if (result.success && result.data.folder === folder) return true;
  throw new UsageError(
    `${visibleLine(path)} does not say which folder you trust. Remove it and trust your folder again.`,
  );
}

/** Adds or removes a folder, whose path has no links. Answers whether that changed anything. */
export async function changeTrust(user: UserFolder, folder: string, trusted: boolean): Promise<boolean> {
  if (!trusted) return deleteFile(fileOf(user, folder));
  if (await isTrusted(user, folder)) return false;
  await writeJsonFile(fileOf(user, folder), { folder });
  return true;
}

function fileOf(user: UserFolder, folder: string): string {
  return join(user.trustFolder, `${fileNameOf(folder)}.json`);
}

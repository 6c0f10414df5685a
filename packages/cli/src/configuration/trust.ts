import { join } from 'node:path';
import { z } from 'zod';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import type { UserFolder } from './locations.js';
import { demandOutside } from './workspace-folder.js';
import { deleteFile, factFileName, readJsonFile, writeJsonFile } from './json-files.js';

/** The content of `trusted/HASH.json`. */
const TrustSchema = z.strictObject({
  folder: z.string(),
  /**
   * The SHA-256 of the workspace's file with MCP servers, as the user has seen it. The file contains commands to run,
   * so a changed file must be trusted again.
   */
  mcp: z.string().optional(),
});

/** Whether the user trusts this workspace's own configuration. `folder` is a real path. */
export async function isTrusted(user: UserFolder, folder: string): Promise<boolean> {
  return (await readTrust(user, folder)) !== undefined;
}

/** The SHA-256 of the workspace's file with MCP servers, if the user trusts the file; undefined otherwise. */
export async function trustedMcp(user: UserFolder, folder: string): Promise<string | undefined> {
  return (await readTrust(user, folder))?.mcp;
}

/**
 * Trusts a folder, given by its real path, and the hash of its file with MCP servers. Returns false if nothing has
 * changed.
 */
export async function storeTrust(user: UserFolder, folder: string, mcp: string | undefined): Promise<boolean> {
  const before = await readTrust(user, folder);
  if (before !== undefined && before.mcp === mcp) return false;
  await writeJsonFile(trustFile(user, folder), { folder, ...(mcp === undefined ? {} : { mcp }) });
  return true;
}

/** Ends the trust in a folder, given by its real path. Returns false if the folder was not trusted. */
export function removeTrust(user: UserFolder, folder: string): Promise<boolean> {
  return deleteFile(trustFile(user, folder));
}

async function readTrust(user: UserFolder, folder: string): Promise<z.infer<typeof TrustSchema> | undefined> {
  const path = trustFile(user, folder);
  demandOutside(path, folder);
  const value = await readJsonFile(path);
  if (value === undefined) return undefined;
  const result = TrustSchema.safeParse(value);
  if (result.success && result.data.folder === folder) return result.data;
  throw new UsageError(
    `${visibleLine(path)} names no trusted folder. Remove this file, then trust your folder again: toolscript trust`,
  );
}

function trustFile(user: UserFolder, folder: string): string {
  return join(user.trustFolder, `${factFileName(folder)}.json`);
}

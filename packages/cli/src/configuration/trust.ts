import { mkdir, rename, writeFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { visibleLine } from '../terminal/untrusted.js';
import { systemCode, UsageError } from '../usage-error.js';
import type { UserFolder } from './locations.js';
import { readJsonFile } from './read-json.js';

const TrustListSchema = z.strictObject({ folders: z.array(z.string()) });

/** Whether the person said that this workspace's own configuration counts. `folder` has no links in it. */
export async function isTrusted(user: UserFolder, folder: string): Promise<boolean> {
  return (await readTrustList(user)).includes(folder);
}

/** Adds or removes a folder, whose path has no links. Answers whether that changed anything. */
export async function changeTrust(user: UserFolder, folder: string, trusted: boolean): Promise<boolean> {
  const folders = await readTrustList(user);
  if (folders.includes(folder) === trusted) return false;
  await writeTrustList(user, trusted ? [...folders, folder] : folders.filter((one) => one !== folder));
  return true;
}

async function readTrustList(user: UserFolder): Promise<string[]> {
  const value = await readJsonFile(user.trustFile);
  if (value === undefined) return [];
  const result = TrustListSchema.safeParse(value);
  if (result.success) return result.data.folders;
  throw new UsageError(
    `${visibleLine(user.trustFile)} is not a list of trusted folders. Remove it and trust your folders again.`,
  );
}

/** Whole or not at all: a process that dies in between leaves the old list. */
async function writeTrustList(user: UserFolder, folders: readonly string[]): Promise<void> {
  const temporary = `${user.trustFile}.${randomUUID()}`;
  try {
    await mkdir(user.path, { recursive: true, mode: 0o700 });
    await writeFile(temporary, `${JSON.stringify({ folders: folders.toSorted() }, undefined, 2)}\n`, {
      mode: 0o600,
      flag: 'wx',
    });
    await rename(temporary, user.trustFile);
  } catch (error) {
    throw new UsageError(
      `${visibleLine(user.trustFile)} cannot be written (${systemCode(error) ?? 'unknown error'}). Make the folder writable.`,
    );
  }
}

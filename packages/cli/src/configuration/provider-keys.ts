import { existsSync } from 'node:fs';
import type { Environment } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { isUsageError, UsageError } from '../usage-error.js';
import { dataFolder } from './locations.js';

/** The providers whose keys `toolscript connect` stores, with the variable of each key and a wire format. */
export const PROVIDERS = {
  openai: { name: 'OpenAI', api: 'openai-responses', variable: 'OPENAI_API_KEY' },
  anthropic: { name: 'Anthropic', api: 'anthropic-messages', variable: 'ANTHROPIC_API_KEY' },
} as const;
export type ProviderSlug = keyof typeof PROVIDERS;
type KeyVariable = (typeof PROVIDERS)[ProviderSlug]['variable'];

export type StoredKeys = Partial<Record<KeyVariable, string>>;

/**
 * Sets the variables of stored keys that the environment does not set. Does nothing without a home folder, because most
 * commands need no key; those that need one report the missing folder or the missing key.
 */
export async function useStoredKeys(environment: NodeJS.ProcessEnv, warn: (message: string) => void): Promise<void> {
  if (!hasStoredKeys(environment)) return;
  try {
    for (const [variable, key] of Object.entries(await readStoredKeys(environment)))
      if ((environment[variable] ?? '') === '') environment[variable] = key;
  } catch (error) {
    if (!isUsageError(error)) throw error;
    warn(error.message);
  }
}

function hasStoredKeys(environment: Environment): boolean {
  try {
    return existsSync(dataFolder(environment).providerKeysFile);
  } catch (error) {
    if (!isUsageError(error)) throw error;
    return false;
  }
}

/** The stored keys, by variable. Throws a UsageError if other users can read the file, or if it is damaged. */
export async function readStoredKeys(environment: Environment): Promise<StoredKeys> {
  const path = dataFolder(environment).providerKeysFile;
  const { readPrivateFile } = await import('@toolscript/core/internal');
  const found = readPrivateFile(path);
  if (found === undefined) return {};
  const name = visibleLine(path);
  // defence: stored-keys-are-private
  if ('problem' in found)
    throw new UsageError(
      found.problem === 'shared'
        ? `The keys in ${name} are not used, because other users can read the file. Make it private: chmod 600 ${name}`
        : `The keys in ${name} cannot be read (${found.code}). Remove the file, and connect again: toolscript connect`,
    );
  try {
    return knownKeys(JSON.parse(found.bytes.toString('utf8')) as unknown);
  } catch {
    throw new UsageError(`${name} is damaged. Remove the file, and connect again: toolscript connect`);
  }
}

/** Stores a key, or removes it. Other users cannot read the file. */
export async function storeKey(
  environment: Environment,
  variable: KeyVariable,
  key: string | undefined,
): Promise<void> {
  const { withFileLock, writePrivateFile } = await import('@toolscript/core/internal');
  const path = dataFolder(environment).providerKeysFile;
  await withFileLock(path, async () => {
    const keys = { ...(await readStoredKeys(environment)), [variable]: key };
    await writePrivateFile(path, `${JSON.stringify(keys, undefined, 2)}\n`);
  });
}

/** Other names in the file set nothing. */
function knownKeys(content: unknown): StoredKeys {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) throw new TypeError('no object');
  const variables: readonly string[] = Object.values(PROVIDERS).map(({ variable }) => variable);
  return Object.fromEntries(
    Object.entries(content).filter(([name, key]) => variables.includes(name) && typeof key === 'string'),
  );
}

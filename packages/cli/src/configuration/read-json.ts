import { readFile, stat } from 'node:fs/promises';
import { visibleLine } from '../terminal/untrusted.js';
import { systemCode, UsageError } from '../usage-error.js';

const MAX_CONFIGURATION_BYTES = 1024 * 1024;

/** The JSON in a file; undefined where there is no such file. Throws a UsageError for everything else. */
export async function readJsonFile(path: string): Promise<unknown> {
  const name = visibleLine(path);
  const text = await readTextFile(path, name);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text.replace(/^\uFEFF/u, ''));
  } catch (error) {
    throw new UsageError(`${name} is not JSON: ${visibleLine((error as Error).message)}. Repair it or remove it.`);
  }
}

export async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function readTextFile(path: string, name: string): Promise<string | undefined> {
  try {
    const { size } = await stat(path);
    if (size > MAX_CONFIGURATION_BYTES) throw new UsageError(`${name} is larger than 1 MiB. Make it smaller.`);
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new UsageError(`${name} cannot be read (${code ?? 'unknown error'}). Give yourself permission or remove it.`);
  }
}

import { readdir, readFile } from 'node:fs/promises';

const CLOSED_ON_EXEC = 0o2000000;
const FOLDER = '/proc/self/fdinfo';

/**
 * The descriptors from 3 on that a child of this process would inherit, because the parent of this process left them
 * open. Node.js closes its own for children, and inherited ones only up to the first gap above 15. Empty on systems
 * that close all of them.
 */
export async function inheritedDescriptors(): Promise<readonly number[]> {
  const inherited: number[] = [];
  for (const name of await orEmpty(() => readdir(FOLDER), [])) {
    // A descriptor may have been closed meanwhile.
    const flags = /^flags:\s*([0-7]+)$/m.exec(await orEmpty(() => readFile(`${FOLDER}/${name}`, 'utf8'), ''))?.[1];
    if (flags !== undefined && (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) === 0 && Number(name) > 2)
      inherited.push(Number(name));
  }
  return inherited;
}

async function orEmpty<T>(read: () => Promise<T>, empty: T): Promise<T> {
  try {
    return await read();
  } catch {
    return empty;
  }
}

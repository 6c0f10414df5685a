import { pathToFileURL } from 'node:url';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';

/**
 * The `default` export of the user's own TypeScript or JavaScript file. The file is executed, so the caller must check
 * that it is outside of the workspace. Throws a UsageError if the file cannot be loaded, or if the export is not an
 * object with members.
 */
export async function readCodeFile(path: string): Promise<unknown> {
  const name = visibleLine(path);
  const { createJiti } = await import('jiti');
  const jiti = createJiti(pathToFileURL(path).href, { fsCache: false, moduleCache: false, interopDefault: true });
  try {
    const value = await jiti.import(path, { default: true });
    if (typeof value === 'object' && value !== null && Object.keys(value).length > 0) return { ...value };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(
      `${name} cannot be loaded: ${visibleLine(why).slice(0, 500).replace(/\.$/u, '')}. Repair it or remove it.`,
    );
  }
  throw new UsageError(`${name} has no default export with members. Write: export default { … }.`);
}

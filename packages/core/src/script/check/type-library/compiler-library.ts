import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** One declaration file of TypeScript's own library, such as `lib.es2015.promise.d.ts`. */
export interface LibraryFile {
  readonly name: string;
  readonly text: string;
}

/** The newest language edition; built-ins that the guest's engine lacks are removed later. */
const ENTRY = 'esnext';

/** Declarations of decorators. A script with decorators is rejected before it runs. */
const LEFT_OUT = new Set(['decorators', 'decorators.legacy', 'esnext.decorators']);

/**
 * Reads TypeScript's declarations of the language, oldest edition first, because each file refers to earlier ones. The
 * native compiler's package for this platform contains them.
 */
export async function readCompilerLibrary(): Promise<LibraryFile[]> {
  const folder = compilerLibraryFolder();
  const files: LibraryFile[] = [];
  const seen = new Set(LEFT_OUT);
  const add = async (edition: string): Promise<void> => {
    if (seen.has(edition)) return;
    seen.add(edition);
    const name = `lib.${edition}.d.ts`;
    const text = await readFile(join(folder, name), 'utf8');
    for (const referred of referredEditions(text)) await add(referred);
    files.push({ name, text });
  };
  await add(ENTRY);
  return files;
}

/** The version of the compiler to which these declarations belong. */
export function compilerVersion(): string {
  const require = createRequire(import.meta.url);
  return (require('typescript/package.json') as { version: string }).version;
}

/**
 * Finds the folder of the library files as the compiler finds its own platform package
 * (`typescript/lib/getExePath.js`).
 */
function compilerLibraryFolder(): string {
  const manifest = createRequire(import.meta.url).resolve('typescript/package.json');
  const platform = `@typescript/typescript-${process.platform}-${process.arch}/package.json`;
  return join(dirname(createRequire(manifest).resolve(platform)), 'lib');
}

function referredEditions(text: string): string[] {
  return [...text.matchAll(/^\/\/\/ <reference lib="([\w.]+)" \/>/gmu)].map(([, edition]) => edition!);
}

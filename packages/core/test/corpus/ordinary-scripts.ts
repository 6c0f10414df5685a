import { readdirSync, readFileSync } from 'node:fs';

export interface OrdinaryScript {
  /** The subject of the script; unique. */
  readonly name: string;
  readonly language: 'ts' | 'js';
  /** The source as a model writes it, with await and return at the top level. */
  readonly source: string;
}

const FOLDER = new URL('scripts/', import.meta.url);

/** Scripts of the kind models write, one per file of `scripts/`. Each uses only the tools of `makeWorld`. */
export const ordinaryScripts: readonly OrdinaryScript[] = readdirSync(FOLDER)
  .filter((file) => /\.(?:ts|js)\.txt$/u.test(file))
  .toSorted()
  .map((file) => ({
    name: file.replace(/\.(?:ts|js)\.txt$/u, '').replaceAll('-', ' '),
    language: file.endsWith('.ts.txt') ? 'ts' : 'js',
    source: readFileSync(new URL(file, FOLDER), 'utf8'),
  }));

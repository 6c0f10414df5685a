import { readdirSync, readFileSync } from 'node:fs';

/** A script that runs correctly in `makeWorld()`. */
export interface GoodScript {
  readonly name: string;
  readonly source: string;
}

/** A script with one mistake that can be found before it runs. */
export interface BadScript {
  readonly name: string;
  readonly source: string;
  /** The lines of the source, counted from 1, where the mistake may be reported. */
  readonly lines: readonly number[];
  /** The text that a message about the mistake must contain. */
  readonly about: string;
  /** True: the mistake is hard to detect, so a warning is enough. */
  readonly mayWarn: boolean;
}

const GOOD = new URL('good/', import.meta.url);
const BAD = new URL('bad/', import.meta.url);

export function goodScripts(): GoodScript[] {
  return scriptsOf(GOOD);
}

/** The comments at the head of a file describe its mistake; they are part of the source. */
export function badScripts(): BadScript[] {
  return scriptsOf(BAD).map(({ name, source }) => {
    const [, lines, about, may] = /^\/\/ line: ([\d,]+)\n\/\/ about: (.+)\n(\/\/ may: warn\n)?/u.exec(source) ?? [];
    if (lines === undefined || about === undefined)
      throw new Error(`bad/${name}.ts does not begin with "// line: …" and "// about: …"`);
    return { name, source, lines: lines.split(',').map(Number), about, mayWarn: may !== undefined };
  });
}

function scriptsOf(folder: URL): GoodScript[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.ts'))
    .toSorted()
    .map((file) => ({ name: file.replace(/\.ts$/u, ''), source: readFileSync(new URL(file, folder), 'utf8') }));
}

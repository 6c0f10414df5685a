/*
 * Names of files in the headers of unified diffs: quoted by git if they contain unusual characters, with a prefix for
 * each side, followed by a tab and a time if `diff -u` wrote them.
 */

const ESCAPES: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, '\\': 92 };
const QUOTED = /"(?:[^"\\]|\\.)*"/y;
const TIME = /\s\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*/s;
const EPOCH = /\s(19(?:69-12-31|70-01-01))[ T](\d\d:\d\d:\d\d)(?:\.0+)?(?: ([+-]\d{4}))?\s*$/;
/**
 * Pairs of prefixes that git writes: before and after, index and work tree, commit and index or work tree, object and
 * work tree, and first and second file.
 */
const PREFIXES: readonly (readonly [string, string])[] = [
  ['a/', 'b/'],
  ['i/', 'w/'],
  ['c/', 'i/'],
  ['c/', 'w/'],
  ['o/', 'w/'],
  ['1/', '2/'],
];

export const NO_FILE = '/dev/null';

/** Both names of one file. */
export interface DiffNames {
  readonly before: string;
  readonly after: string;
}

/** The name after `--- `, `+++ `, `rename from ` and similar markers. */
export function readName(text: string): string {
  QUOTED.lastIndex = 0;
  const quoted = QUOTED.exec(text)?.[0];
  if (quoted !== undefined) return unquote(quoted);
  const tab = text.indexOf('\t');
  return tab === -1 ? text.replace(TIME, '') : text.slice(0, tab);
}

/** Whether the header shows a missing file: `diff -N` gives a missing file the start of Unix time, in any time zone. */
export function isMissingSide(text: string): boolean {
  const [, day, time, zone] = EPOCH.exec(text) ?? [];
  if (day === undefined) return false;
  const offset = zone === undefined ? 'Z' : `${zone.slice(0, 3)}:${zone.slice(3)}`;
  return Date.parse(`${day}T${time}${offset}`) === 0;
}

/**
 * The names of a `diff --git` line. Undefined if blanks make the line ambiguous. In that case, other lines determine
 * the names.
 */
export function readGitNames(text: string): DiffNames | undefined {
  const line = text.trim();
  if (line.includes('"')) return quotedPair(line);
  for (let at = line.indexOf(' '); at !== -1; at = line.indexOf(' ', at + 1)) {
    const names = { before: line.slice(0, at), after: line.slice(at + 1) };
    const plain = withoutPrefixes(names);
    if (plain.before === plain.after) return names;
  }
  const words = line.split(' ');
  return words.length === 2 ? { before: words[0]!, after: words[1]! } : undefined;
}

/** Removes the prefixes if both names have the prefixes of one pair. */
export function withoutPrefixes({ before, after }: DiffNames): DiffNames {
  for (const [one, other] of PREFIXES) {
    const fits = (name: string, prefix: string): boolean => name === NO_FILE || name.startsWith(prefix);
    if (!fits(before, one) || !fits(after, other)) continue;
    return { before: cut(before, one), after: cut(after, other) };
  }
  return { before, after };
}

function cut(name: string, prefix: string): string {
  return name === NO_FILE ? name : name.slice(prefix.length);
}

function quotedPair(line: string): DiffNames | undefined {
  const pair = /^("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|.+)$/.exec(line);
  const fromEnd = /^(.+) ("(?:[^"\\]|\\.)*")$/.exec(line);
  const found = pair ?? fromEnd;
  return found ? { before: readName(found[1]!), after: readName(found[2]!) } : undefined;
}

/** Removes git's quotes, and decodes C escapes and octal numbers. Octal numbers stand for bytes outside ASCII. */
function unquote(quoted: string): string {
  const bytes: Buffer[] = [];
  for (const [, octal, escape, plain] of quoted.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/gs)) {
    if (octal !== undefined) bytes.push(Buffer.of(Number.parseInt(octal, 8) & 0xff));
    else if (escape !== undefined) bytes.push(Buffer.of(ESCAPES[escape] ?? escape.charCodeAt(0)));
    else bytes.push(Buffer.from(plain!));
  }
  return Buffer.concat(bytes).toString('utf8');
}

import { lstatSync, readlinkSync, type BigIntStats } from 'node:fs';
import { dirname, isAbsolute, join, parse, relative, resolve, sep } from 'node:path';

/** The maximum number of links that Linux follows. */
const MAX_LINKS = 40;

/**
 * Whether the resolution of a path passes through a folder, given by its real path: at its end, or at a symbolic link
 * that the rest depends on. Dangling links and missing parts are resolved too. The folder is also recognised by its
 * identity, because the file system may allow several spellings.
 */
export function leadsInto(folder: string, path: string): boolean {
  const identity = statsOf(folder);
  const { root } = parse(resolve(path));
  let at = root;
  let links = 0;
  const names = namesOf(resolve(path), root);
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const next = name === '..' ? dirname(at) : join(at, name);
    const stats = statsOf(next);
    if (isInside(folder, next) || isSame(identity, stats)) return true;
    const target = stats?.isSymbolicLink() === true && links < MAX_LINKS ? readlinkSync(next) : undefined;
    if (target === undefined) {
      at = next;
      continue;
    }
    links += 1;
    const from = parse(target).root;
    if (from !== '') at = resolve(from);
    names.unshift(...namesOf(target, from));
  }
  return isInside(folder, at);
}

function namesOf(path: string, root: string): string[] {
  return path
    .slice(root.length)
    .split(sep === '/' ? '/' : /[/\\]/u)
    .filter((name) => name !== '' && name !== '.');
}

/** Both are real paths. */
function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return !isAbsolute(way) && way !== '..' && !/^\.\.[/\\]/u.test(way);
}

function isSame(left: BigIntStats | undefined, right: BigIntStats | undefined): boolean {
  return left !== undefined && left.ino !== 0n && left.ino === right?.ino && left.dev === right.dev;
}

/** Undefined if there is no entry, or no accessible one. */
function statsOf(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

import { lstatSync, readlinkSync, type BigIntStats } from 'node:fs';
import { dirname, isAbsolute, join, parse, relative, resolve, sep } from 'node:path';

/** As many as Linux follows. */
const MAX_LINKS = 40;

/**
 * Whether the way to a path leads into a folder, whose own path has no links: to its end, or to a link that the rest
 * depends on. Links that lead nowhere yet are followed too, and so are the parts that do not exist yet. The folder is
 * also known by its identity, in case the file system lets it be spelled in other ways.
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

/** Both without links. */
function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return !isAbsolute(way) && way !== '..' && !/^\.\.[/\\]/u.test(way);
}

function isSame(left: BigIntStats | undefined, right: BigIntStats | undefined): boolean {
  return left !== undefined && left.ino !== 0n && left.ino === right?.ino && left.dev === right.dev;
}

/** Undefined where there is nothing, or nothing that may be looked at. */
function statsOf(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

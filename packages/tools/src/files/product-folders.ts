import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Files of this program itself: whoever writes them runs code on the host. Absolute paths without links. */
export interface ProductFiles {
  /** Files and folders that are there. */
  readonly present: readonly string[];
  /** Places where nothing is, and where a package would be loaded in place of the program's own. */
  readonly absent: readonly string[];
}

const NONE: ProductFiles = { present: [], absent: [] };

interface Manifest {
  readonly files?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/**
 * What lies in the roots of the program's own packages, of everything that they load or start, and of Node.js.
 * `module` is a file of the program.
 */
export function productFilesIn(
  roots: readonly string[],
  module = fileURLToPath(import.meta.url),
  node = process.execPath,
): ProductFiles {
  const own = packageOf(module);
  const isNear = (root: string): boolean => isInside(root, own) || root.split(sep).includes('node_modules');
  const found = roots.some(isNear) ? new Packages(own) : NONE;
  const isInRoots = (path: string): boolean => roots.some((root) => isInside(root, path));
  const present = [...found.present, realPath(node)].filter(isInRoots);
  const isCovered = (path: string): boolean => present.some((folder) => isInside(folder, path));
  return { present, absent: [...found.absent].filter((path) => isInRoots(path) && !isCovered(path)) };
}

/** A package and all that it depends on, as Node.js finds them. */
class Packages {
  readonly present = new Set<string>();
  readonly absent = new Set<string>();
  readonly #seen = new Set<string>();

  constructor(folder: string) {
    this.#add(folder);
  }

  #add(folder: string): void {
    if (this.#seen.has(folder)) return;
    this.#seen.add(folder);
    const manifest = manifestOf(folder);
    for (const path of publishedIn(folder, manifest)) this.present.add(path);
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }))
      this.#follow(folder, name);
  }

  #follow(from: string, name: string): void {
    const passed: string[] = [];
    for (const place of placesOf(from, name)) {
      if (existsSync(join(place, 'package.json'))) {
        // defence: places-before-a-package
        for (const path of passed) this.absent.add(path);
        // defence: folders-that-hold-packages
        for (const path of holdersOf(place)) this.present.add(path);
        return this.#add(realPath(place));
      }
      passed.push(place);
    }
  }
}

/** Where Node.js looks for a package, in its order. */
function* placesOf(from: string, name: string): Generator<string> {
  for (let folder = from; ; folder = dirname(folder)) {
    if (basename(folder) !== 'node_modules') yield join(folder, 'node_modules', name);
    if (dirname(folder) === folder) return;
  }
}

/**
 * Folders that hold nothing but packages of the program: that of a scope, where a folder `node_modules` would come
 * first, and that of a package in pnpm's store, where packages are links.
 */
function holdersOf(place: string): string[] {
  const folder = dirname(place);
  const isScope = basename(folder).startsWith('@');
  const holder = isScope ? dirname(folder) : folder;
  const isStore = holder.split(sep).includes('.pnpm');
  return [...(isScope ? [folder] : []), ...(isStore ? [holder] : [])].map(realPath);
}

/** An installed package is whole; of one that is worked on, what would be published and is loaded from there. */
function publishedIn(folder: string, { files = [] }: Manifest): string[] {
  if (folder.split(sep).includes('node_modules')) return [folder];
  const names = ['package.json', ...files.filter((name) => /^[\w.-]+$/.test(name))];
  return names.map((name) => join(folder, name)).filter((path) => existsSync(path));
}

function packageOf(file: string): string {
  let folder = dirname(realPath(file));
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

function manifestOf(folder: string): Manifest {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  } catch {
    return {};
  }
}

function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

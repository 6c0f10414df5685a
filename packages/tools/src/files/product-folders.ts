import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isInside } from './is-inside.js';

/**
 * Files of this program. A command that can write to them can run code on the host. The paths are absolute, with
 * symbolic links resolved.
 */
export interface ProductFiles {
  /** Existing files and folders. */
  readonly present: readonly string[];
  /** Missing paths at which Node.js would load a package instead of one of the program's own packages. */
  readonly absent: readonly string[];
}

const NONE: ProductFiles = { present: [], absent: [] };

interface Manifest {
  readonly files?: readonly string[] | undefined;
  readonly dependencies?: Readonly<Record<string, string>> | undefined;
  readonly optionalDependencies?: Readonly<Record<string, string>> | undefined;
}

/**
 * The parts of the program inside the roots: its packages, everything that they load or start, and Node.js. `module` is
 * a file of the program.
 */
export function productFilesIn(
  roots: readonly string[],
  module = fileURLToPath(import.meta.url),
  node = process.execPath,
): ProductFiles {
  const own = packageFolder(module);
  const isNear = (root: string): boolean => isInside(root, own) || root.split(sep).includes('node_modules');
  const found = roots.some(isNear) ? new Packages(own) : NONE;
  const isInRoots = (path: string): boolean => roots.some((root) => isInside(root, path));
  const present = [...found.present, realPath(node)].filter(isInRoots);
  const isCovered = (path: string): boolean => present.some((folder) => isInside(folder, path));
  return { present, absent: [...found.absent].filter((path) => isInRoots(path) && !isCovered(path)) };
}

/** A package and all its dependencies, as Node.js resolves them. */
class Packages {
  readonly present = new Set<string>();
  readonly absent = new Set<string>();
  readonly #seenFolders = new Set<string>();

  constructor(folder: string) {
    this.#add(folder);
  }

  #add(folder: string): void {
    if (this.#seenFolders.has(folder)) return;
    this.#seenFolders.add(folder);
    const manifest = packageManifest(folder);
    for (const path of publishedIn(folder, manifest)) this.present.add(path);
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }))
      this.#follow(folder, name);
  }

  #follow(from: string, name: string): void {
    const passed: string[] = [];
    for (const place of packagePlaces(from, name)) {
      if (existsSync(join(place, 'package.json'))) {
        // defence: places-before-a-package
        for (const path of passed) this.absent.add(path);
        // defence: folders-that-hold-packages
        for (const path of packageHolders(place)) this.present.add(path);
        return this.#add(realPath(place));
      }
      passed.push(place);
    }
  }
}

/** The paths at which Node.js searches for a package, in order. */
function* packagePlaces(from: string, name: string): Generator<string> {
  for (let folder = from; ; folder = dirname(folder)) {
    if (basename(folder) !== 'node_modules') yield join(folder, 'node_modules', name);
    if (dirname(folder) === folder) return;
  }
}

/**
 * The protected folders above a package: the folder of its scope, in which a `node_modules` folder would take
 * precedence, and a folder in pnpm's store, which contains packages as links.
 */
function packageHolders(place: string): string[] {
  const folder = dirname(place);
  const isScope = basename(folder).startsWith('@');
  const holder = isScope ? dirname(folder) : folder;
  const isStore = holder.split(sep).includes('.pnpm');
  return [...(isScope ? [folder] : []), ...(isStore ? [holder] : [])].map(realPath);
}

/**
 * The protected files of a package: all files of an installed package, but only the published files of a package in
 * development.
 */
function publishedIn(folder: string, { files = [] }: Manifest): string[] {
  if (folder.split(sep).includes('node_modules')) return [folder];
  const names = ['package.json', ...files.filter((name) => /^[\w.-]+$/.test(name))];
  return names.map((name) => join(folder, name)).filter((path) => existsSync(path));
}

function packageFolder(file: string): string {
  let folder = dirname(realPath(file));
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

function packageManifest(folder: string): Manifest {
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

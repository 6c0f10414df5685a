import { existsSync, readFileSync } from 'node:fs';
import { join, dirname, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ToolscriptUsageError } from '../protocol/errors.js';

/**
 * This module finds the files that core loads by path: the modules of its worker threads, the engine and its images,
 * the type library. All of them are in one folder, `dist` of the installed package. Core searches these locations in
 * this order: the package folder that the environment variable `TOOLSCRIPT_CORE` names; the folder of this code; the
 * package as the program's own files would import it. The last location serves programs whose bundler has copied this
 * code elsewhere. The working folder is never searched, because its files may be untrusted.
 *
 * No path is written as `new URL('…', import.meta.url)`: each bundler replaces such expressions in its own way, and no
 * bundler copies every file that is needed.
 */

/** The version of this code. An installed package of another version is refused. */
export const CORE_VERSION = '0.1.0';

/**
 * Returns the URL of one of core's files. `path` is relative to `dist`. Throws a `ToolscriptUsageError` if no complete
 * package of this version is found.
 */
export function coreFile(path: string): URL {
  return new URL(path, folder());
}

/**
 * Returns the path of a file of another package, as core's own modules would import the file. With `via`, a file of a
 * dependency of core, the result is the path that the dependency's modules would import. Throws if the package is not
 * installed.
 */
export function packageFile(name: string, via?: string): string {
  const own = requireFrom(new URL('index.js', folder()));
  return via === undefined ? own.resolve(name) : requireFrom(own.resolve(via)).resolve(name);
}

/**
 * Loads an optional package: the one that core's own modules would import, or else the one that the program's own files
 * would import. Returns its exports; undefined if it is not installed.
 */
export function optionalPackage(
  name: string,
  files: readonly (string | URL | undefined)[] = importingFiles(),
): unknown {
  for (const file of files) {
    const path = file === undefined ? undefined : resolvedFrom(file, name);
    if (path !== undefined) return requireFrom(path)(path);
  }
  return undefined;
}

function importingFiles(): readonly (string | URL | undefined)[] {
  return [new URL('index.js', folder()), ownFile(), ...programFiles()];
}

/** True if core is in a folder of packages that belongs to no program, such as that of `npm install --global`. */
export function isInstalledGlobally(path: string = fileURLToPath(folder())): boolean {
  const packages = path.indexOf(`${sep}node_modules${sep}`);
  return packages >= 0 && !existsSync(join(path.slice(0, packages), 'package.json'));
}

/** Files of the program, in case a bundler has copied core's code elsewhere. */
function programFiles(): readonly (string | undefined)[] {
  return [process.argv[1], process.execPath];
}

/**
 * `createRequire` is not imported, because webpack evaluates and replaces calls to an imported `createRequire` at build
 * time.
 */
function requireFrom(file: string | URL): NodeJS.Require {
  return process.getBuiltinModule('node:module').createRequire(file);
}

declare const __filename: string | undefined;

let knownFolder: URL | undefined;

function folder(): URL {
  return (knownFolder ??= findFolder(process.env['TOOLSCRIPT_CORE'], ownFile(), programFiles()));
}

/**
 * Finds the folder of core's files. `named`: the package folder that `TOOLSCRIPT_CORE` names. `own`: the URL of this
 * code. `programs`: files of the program. If a bundler has copied this code, the package is resolved as `own` or one of
 * these files would import it.
 */
export function findFolder(
  named: string | undefined,
  own: string | undefined,
  programs: readonly (string | undefined)[],
): URL {
  if (named !== undefined && named !== '') return installedAt(named, 'TOOLSCRIPT_CORE names');
  const beside = own === undefined ? undefined : ['../', './'].map((path) => new URL(path, own)).find(hasFiles);
  if (beside !== undefined) return beside;
  for (const program of [own, ...programs]) {
    const installed = program === undefined ? undefined : installedFor(program);
    if (installed !== undefined) return installedAt(installed, 'The program would import');
  }
  throw new ToolscriptUsageError('CORE_FILES_NOT_FOUND');
}

/** Returns the URL of this file; undefined in a bundle whose format has neither `import.meta.url` nor `__filename`. */
function ownFile(): string | undefined {
  // Bundlers recognize `import.meta.url` only in exactly this form.
  const url = import.meta.url as string | undefined;
  if (url?.startsWith('file:') === true) return url;
  return typeof __filename === 'string' ? pathToFileURL(__filename).href : undefined;
}

function hasFiles(folder: URL): boolean {
  return existsSync(new URL('sandbox/artefacts/execute.json', folder));
}

/** Returns the folder of the `@toolscript/core` that a file would import; undefined if the file cannot import it. */
function installedFor(file: string): string | undefined {
  const index = resolvedFrom(file, '@toolscript/core');
  return index === undefined ? undefined : join(index, '../..');
}

/** Returns the path of a package's main file as a file would import it; undefined if the file cannot import it. */
function resolvedFrom(file: string | URL, name: string): string | undefined {
  try {
    return requireFrom(file).resolve(name);
  } catch {
    return undefined;
  }
}

function installedAt(packageFolder: string, source: string): URL {
  const folder = new URL('dist/', `${pathToFileURL(packageFolder).href.replace(/\/$/u, '')}/`);
  if (!hasFiles(folder)) throw new ToolscriptUsageError('CORE_PACKAGE_INCOMPLETE', { source, folder: packageFolder });
  const { version } = JSON.parse(readFileSync(new URL('../package.json', folder), 'utf8')) as { version: string };
  if (version === CORE_VERSION) return folder;
  throw new ToolscriptUsageError('CORE_VERSION_OTHER', {
    source,
    version,
    folder: packageFolder,
    expected: CORE_VERSION,
  });
}

/**
 * Returns the path of TypeScript's native compiler for this platform. The compiler's package is an optional dependency
 * of the package `typescript`. Throws if the compiler is not installed.
 */
export function compilerExecutable(): string {
  const name = `@typescript/typescript-${process.platform}-${process.arch}`;
  try {
    const folder = dirname(packageFile(`${name}/package.json`, 'typescript/package.json'));
    return join(folder, 'lib', process.platform === 'win32' ? 'tsc.exe' : 'tsc');
  } catch {
    throw new Error(
      `TypeScript's native compiler is not installed: the package ${name}, an optional dependency of typescript 7, is missing. Install the dependencies again with npm install --include=optional`,
    );
  }
}

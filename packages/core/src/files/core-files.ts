import { existsSync, readFileSync } from 'node:fs';
import { join, dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
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
 * `createRequire` is not imported, because webpack evaluates and replaces calls to an imported `createRequire` at build
 * time.
 */
function requireFrom(file: string | URL): NodeJS.Require {
  return process.getBuiltinModule('node:module').createRequire(file);
}

declare const __filename: string | undefined;

let found: URL | undefined;

function folder(): URL {
  return (found ??= findFolder(process.env['TOOLSCRIPT_CORE'], ownFile(), [process.argv[1], process.execPath]));
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
  throw new ToolscriptUsageError(NOT_FOUND);
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
  try {
    const index = requireFrom(file).resolve('@toolscript/core');
    return join(index, '../..');
  } catch {
    return undefined;
  }
}

function installedAt(packageFolder: string, source: string): URL {
  const folder = new URL('dist/', `${pathToFileURL(packageFolder).href.replace(/\/$/u, '')}/`);
  if (!hasFiles(folder))
    throw new ToolscriptUsageError(
      `${source} ${packageFolder}, which is not a complete package @toolscript/core: dist/sandbox/artefacts/execute.json is missing. Install the package again, or set TOOLSCRIPT_CORE to the folder of a complete package.`,
    );
  const { version } = JSON.parse(readFileSync(new URL('../package.json', folder), 'utf8')) as { version: string };
  if (version === CORE_VERSION) return folder;
  throw new ToolscriptUsageError(
    `${source} version ${version} of @toolscript/core in ${packageFolder}, but this code is version ${CORE_VERSION}. Install one version, and build the program again.`,
  );
}

const NOT_FOUND = [
  'Toolscript does not find the files that it loads by path (its worker threads, its engine), because a',
  'bundler has copied its code elsewhere. Leave @toolscript/core out of the bundle (esbuild, Vite, webpack: "external"; Next.js:',
  '"serverExternalPackages"), or install it in a node_modules beside the program, or set TOOLSCRIPT_CORE to the folder',
  'of the installed package.',
].join(' ');

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

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compilerExecutable, coreFile, packageFile } from './core-files.js';

/** The members of a Next.js configuration (Next.js 15 or newer) that `withToolscript` changes. */
export interface NextSettings {
  serverExternalPackages?: string[] | undefined;
  outputFileTracingIncludes?: Record<string, string[]> | undefined;
}

/**
 * Returns a Next.js configuration whose server leaves `@toolscript/core` in `node_modules`. The output of
 * `output: 'standalone'` then contains the files that core loads by path, and the packages that only its worker threads
 * load: the native parser, for example.
 *
 * Next.js reads the paths of these files relative to the folder that it builds, which must be the working folder.
 * Throws if TypeScript's native compiler is not installed.
 */
export function withToolscript<Config extends NextSettings>(config: Config): Config & Required<NextSettings> {
  const included = config.outputFileTracingIncludes ?? {};
  return {
    ...config,
    serverExternalPackages: [...(config.serverExternalPackages ?? []), '@toolscript/core'],
    outputFileTracingIncludes: {
      ...included,
      [EVERY_ROUTE]: [...(included[EVERY_ROUTE] ?? []), ...tracedFiles(process.cwd())],
    },
  };
}

const EVERY_ROUTE = '/*';

/** Packages that only the worker threads load. A tracer that starts at core's modules misses these packages. */
const OF_THREADS = ['oxc-parser', 'oxc-transform', '@jridgewell/trace-mapping'];

function tracedFiles(from: string): string[] {
  const dist = fileURLToPath(coreFile('./'));
  const packages = new Set<string>();
  for (const name of OF_THREADS) addPackage(name, undefined, packages);
  const patterns = [join(dist, '**/*.{js,json,wasm,image}'), join(dist, 'script/check/type-library/guest.lib.d.ts')];
  for (const manifest of packages) patterns.push(join(dirname(manifest), '**/*'));
  patterns.push(...compilerFiles());
  return patterns.map((pattern) => relative(from, pattern).split(sep).join('/'));
}

/** Adds to `found` the manifest paths of the package and of all packages that it depends on. */
function addPackage(name: string, via: string | undefined, found: Set<string>): void {
  const manifest = packageManifestPath(name, via);
  if (manifest === undefined || found.has(manifest)) return;
  found.add(manifest);
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(manifest, 'utf8')) as {
    dependencies?: object | undefined;
    optionalDependencies?: object | undefined;
  };
  for (const next of Object.keys({ ...dependencies, ...optionalDependencies })) addPackage(next, manifest, found);
}

/**
 * Returns the path of a package's manifest; undefined if the package is not installed. Packages with native code for
 * another platform are not installed.
 */
function packageManifestPath(name: string, via: string | undefined): string | undefined {
  const own = via === undefined ? fileURLToPath(coreFile('../package.json')) : via;
  for (let folder = dirname(own); ; folder = dirname(folder)) {
    const manifest = join(folder, 'node_modules', name, 'package.json');
    if (existsSync(manifest)) return manifest;
    if (dirname(folder) === folder) return undefined;
  }
}

/**
 * Returns the manifest of `typescript` and patterns for its native compiler for this platform. Core uses no other files
 * of `typescript`.
 */
function compilerFiles(): string[] {
  const folder = dirname(compilerExecutable());
  return [packageFile('typescript/package.json'), join(folder, '../package.json'), join(folder, '**/*')];
}

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compilerExecutable, coreFile, packageFile } from './core-files.js';

/** The members of a configuration of Next.js (15 or newer) that `withToolscript` changes. */
export interface NextSettings {
  serverExternalPackages?: string[];
  outputFileTracingIncludes?: Record<string, string[]>;
}

/**
 * Returns a configuration of Next.js whose server leaves `@toolscript/core` in `node_modules`. The output of
 * `output: 'standalone'` then contains the files that core loads by path: its worker threads, the native parser,
 * TypeScript's native compiler.
 *
 * Next.js reads these paths relative to the folder that it builds, which must be the working folder. Throws if the
 * native compiler is not installed.
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

/** Packages that only the worker threads load, so that a tracer which starts at core's modules misses them. */
const OF_THREADS = ['oxc-parser', 'oxc-transform', '@jridgewell/trace-mapping'];

function tracedFiles(from: string): string[] {
  const dist = fileURLToPath(coreFile('./'));
  const packages = new Set<string>();
  for (const name of OF_THREADS) addPackage(name, undefined, packages);
  const patterns = [join(dist, '**/*.{js,json,wasm,image}'), join(dist, 'script/type-library/guest.lib.d.ts')];
  for (const manifest of packages) patterns.push(join(dirname(manifest), '**/*'));
  patterns.push(...compilerFiles());
  return patterns.map((pattern) => relative(from, pattern).split(sep).join('/'));
}

/** Adds the manifests of the package and of all packages that it depends on. */
function addPackage(name: string, via: string | undefined, found: Set<string>): void {
  const manifest = manifestOf(name, via);
  if (manifest === undefined || found.has(manifest)) return;
  found.add(manifest);
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(manifest, 'utf8')) as {
    dependencies?: object;
    optionalDependencies?: object;
  };
  for (const next of Object.keys({ ...dependencies, ...optionalDependencies })) addPackage(next, manifest, found);
}

/**
 * Returns the path of a package's manifest. Undefined if the package is not installed, because packages with native
 * code exist for one platform only.
 */
function manifestOf(name: string, via: string | undefined): string | undefined {
  const own = via === undefined ? fileURLToPath(coreFile('../package.json')) : via;
  for (let folder = dirname(own); ; folder = dirname(folder)) {
    const manifest = join(folder, 'node_modules', name, 'package.json');
    if (existsSync(manifest)) return manifest;
    if (dirname(folder) === folder) return undefined;
  }
}

/** Core uses only TypeScript's native compiler; the package of the compiler contains it for one platform. */
function compilerFiles(): string[] {
  const folder = dirname(compilerExecutable());
  return [packageFile('typescript/package.json'), join(folder, '../package.json'), join(folder, '**/*')];
}

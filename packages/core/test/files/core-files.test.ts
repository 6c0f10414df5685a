import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { CORE_VERSION, findFolder, isInstalledGlobally, optionalPackage } from '#core/files/core-files.js';
import { loadIsolatedVm } from '#core/sandbox/index.js';
import { ToolscriptUsageError } from '@toolscript/core';

const core = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'core-files-'));
const NOWHERE = pathToFileURL(join(folder, 'bundles/program.js')).href;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A package @toolscript/core with one file that stands for all its files. */
function install(at: string, version = CORE_VERSION): string {
  const path = join(folder, at);
  mkdirSync(join(path, 'dist/sandbox/artefacts'), { recursive: true });
  cpSync(join(core, 'dist/sandbox/artefacts/execute.json'), join(path, 'dist/sandbox/artefacts/execute.json'));
  writeFileSync(join(path, 'dist/index.js'), '');
  const { exports } = JSON.parse(readFileSync(join(core, 'package.json'), 'utf8')) as object & { exports: object };
  writeFileSync(join(path, 'package.json'), JSON.stringify({ name: '@toolscript/core', version, exports }));
  return path;
}

const distOf = (path: string) => pathToFileURL(join(path, 'dist/')).href;

describe('the files of core', () => {
  it('the version in the code is the version of the package', () => {
    const { version } = JSON.parse(readFileSync(join(core, 'package.json'), 'utf8')) as { version: string };
    expect(CORE_VERSION).toBe(version);
  });

  it('code that was not bundled uses the files beside it', () => {
    expect(findFolder(undefined, pathToFileURL(join(core, 'dist/files/core-files.js')).href, []).href).toBe(
      distOf(core),
    );
  });

  it('bundled code uses the package that it would import, or that the program would import', () => {
    const installed = install('app/node_modules/@toolscript/core');
    const bundle = pathToFileURL(join(folder, 'app/out/server.js')).href;
    expect(findFolder(undefined, bundle, []).href).toBe(distOf(installed));
    const program = join(folder, 'app/main.js');
    expect(findFolder(undefined, NOWHERE, [program]).href).toBe(distOf(installed));
    expect(findFolder(undefined, undefined, [undefined, program]).href).toBe(distOf(installed));
  });

  it('a named package comes first, and its absence is no reason to search on', () => {
    const installed = install('elsewhere/core');
    const own = pathToFileURL(join(core, 'dist/files/core-files.js')).href;
    expect(findFolder(installed, own, []).href).toBe(distOf(installed));
    expect(() => findFolder(join(folder, 'absent'), own, [])).toThrow(/TOOLSCRIPT_CORE names .*absent/u);
  });

  it('files of another version are refused', () => {
    const old = install('old/node_modules/@toolscript/core', '0.0.9');
    expect(() => findFolder(undefined, pathToFileURL(join(old, '../../../out.js')).href, [])).toThrow(
      /version 0\.0\.9 .* but this code is version/u,
    );
  });

  it('code without its files says in one sentence which settings help', () => {
    expect(() => findFolder(undefined, NOWHERE, [])).toThrow(ToolscriptUsageError);
    expect(() => findFolder(undefined, undefined, [])).toThrow(
      /external.*serverExternalPackages.*node_modules.*TOOLSCRIPT_CORE/su,
    );
  });
});

describe('an optional package', () => {
  const program = join(folder, 'program/main.js');
  const add = (name: string, code: string) => {
    const installed = join(folder, 'program/node_modules', name);
    mkdirSync(installed, { recursive: true });
    writeFileSync(join(installed, 'package.json'), JSON.stringify({ name, type: 'module', exports: './main.js' }));
    writeFileSync(join(installed, 'main.js'), code);
  };

  it('is the one that the first of the files would import, and its exports are loaded', () => {
    add('engine', 'export const answer = 42;');
    expect(optionalPackage('engine', [NOWHERE, undefined, program])).toMatchObject({ answer: 42 });
  });

  it('is undefined if none of the files can import it, wherever the working folder is', () => {
    const before = process.cwd();
    process.chdir(join(folder, 'program'));
    try {
      expect(optionalPackage('engine', [NOWHERE, undefined])).toBeUndefined();
      expect(optionalPackage('engine')).toBeUndefined();
    } finally {
      process.chdir(before);
    }
  });

  it('whose code is broken fails with its own error', () => {
    add('broken-engine', 'throw new Error("it broke");');
    expect(() => optionalPackage('broken-engine', [program])).toThrow('it broke');
  });

  it('of a runtime that is missing is one sentence with the command that installs it', () => {
    expect(() => loadIsolatedVm(() => undefined)).toThrow(
      /^The runtime "isolated-vm" needs the package @toolscript\/isolated-vm, which is not installed\. Run: npm install @toolscript\/isolated-vm isolated-vm@(?:5\.0\.4|6|7)$/u,
    );
  });

  it('is installed globally beside a core that belongs to no program', () => {
    const app = join(folder, 'global/lib');
    expect(isInstalledGlobally(join(app, 'node_modules/toolscript/bundle/'))).toBe(true);
    mkdirSync(app, { recursive: true });
    writeFileSync(join(app, 'package.json'), '{}');
    expect(isInstalledGlobally(join(app, 'node_modules/toolscript/bundle/'))).toBe(false);
    expect(isInstalledGlobally(join(app, 'packages/core/'))).toBe(false);
  });
});

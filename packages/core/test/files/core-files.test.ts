import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { CORE_VERSION, findFolder } from '#core/files/core-files.js';
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

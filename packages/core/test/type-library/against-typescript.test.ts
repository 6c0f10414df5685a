import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LANGUAGE_DECLARATIONS } from '#core/script/check/type-library/language-declarations.js';
import { WEB_DECLARATIONS } from '#core/script/check/type-library/web-declarations.js';
import { asModule, GUEST, LIBRARY, OPTIONS } from './compiler.js';
import { ORDINARY_SCRIPTS } from './ordinary-scripts.js';

const TSC = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
const CORPUS = new URL('../corpus/scripts/', import.meta.url);

let folder: string;
let scripts = 0;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolscript-library-'));
  mkdirSync(join(folder, 'scripts'));
  const sources = [
    ...Object.values(ORDINARY_SCRIPTS),
    ...readdirSync(CORPUS).map((file) => readFileSync(new URL(file, CORPUS), 'utf8')),
  ];
  for (const source of sources) writeFileSync(join(folder, 'scripts', `${scripts++}.ts`), asModule(source));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The compiler's diagnostics of the scripts, line by line, without those of the declarations. */
function complaints(options: object, declarations: Readonly<Record<string, string>>): string[] {
  for (const [name, text] of Object.entries(declarations)) writeFileSync(join(folder, name), text);
  const project = { compilerOptions: options, files: Object.keys(declarations), include: ['scripts/*.ts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project));
  const { stdout } = spawnSync(process.execPath, [TSC, '-p', folder, '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
  });
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('scripts/'))
    .toSorted();
}

it('gives the same diagnostics for every script as TypeScript’s own library', () => {
  const guest = { 'guest.d.ts': GUEST };
  const { noLib: _, ...withLibrary } = { ...OPTIONS, lib: ['esnext'] };
  const additions = { 'language.d.ts': LANGUAGE_DECLARATIONS, 'web.d.ts': WEB_DECLARATIONS };
  const expected = complaints(withLibrary, { ...guest, ...additions });
  expect(scripts).toBeGreaterThan(100);
  expect(expected.length).toBeGreaterThan(100);
  expect(complaints(OPTIONS, { ...guest, 'guest.lib.d.ts': LIBRARY })).toEqual(expected);

  const planted = LIBRARY.replaceAll('flatMap', 'planted');
  const found = complaints(OPTIONS, { ...guest, 'guest.lib.d.ts': planted });
  expect(found.length).toBeGreaterThan(expected.length);
  expect(found.filter((line) => !expected.includes(line)).join()).toContain("'flatMap'");
});

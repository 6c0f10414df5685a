import { execFileSync } from 'node:child_process';
import { rgPath } from '@vscode/ripgrep';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileGlob, isGlob } from '#tools/search/glob.js';
import { tries } from '@toolscript/testkit/some-cases';
import { newFolder } from '@toolscript/testkit/folder';

describe('a glob', () => {
  it.each<[string, string, boolean]>([
    ['*.ts', 'a.ts', true],
    ['*.ts', 'src/deep/a.ts', true],
    ['*.ts', 'a.tsx', false],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/b/a.ts', false],
    ['src/*.ts', 'x/src/a.ts', false],
    ['src/**/*.ts', 'src/a.ts', true],
    ['src/**/*.ts', 'src/b/c/a.ts', true],
    ['**/test/**', 'a/test/b/c.ts', true],
    ['**/test/**', 'test/c.ts', true],
    ['**/test/**', 'test', false],
    ['src/', 'src/a/b', true],
    ['/a.ts', 'a.ts', true],
    ['/a.ts', 'b/a.ts', false],
    ['./src/a.ts', 'src/a.ts', true],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['*.{ts,tsx}', 'x/a.tsx', true],
    ['{src,test}/**/*.{js,ts}', 'test/a/b.js', true],
    ['{a,{b,c}}.txt', 'c.txt', true],
    ['[ab].txt', 'b.txt', true],
    ['[!ab].txt', 'b.txt', false],
    ['[a-c].txt', 'c.txt', true],
    ['[a-c]x', 'dx', false],
    ['a\\*b', 'a*b', true],
    ['a\\*b', 'axb', false],
    ['a.b', 'axb', false],
    ['*', 'anything/at/all', true],
    ['**', 'a', true],
    ['😀?', '😀é', true],
  ])('%s on %s: %s', (glob, path, matches) => {
    expect(compileGlob(glob).matches(path)).toBe(matches);
  });

  it.each(['[a', '', '[z-a]', '{a,b}'.repeat(10)])('%s is rejected', (glob) => {
    expect(() => compileGlob(glob)).toThrow(/glob/);
  });

  it('matches the same paths as in ripgrep', () => {
    const files = ['a.ts', 'b.js', 'src/a.ts', 'src/x/a.ts', 'src/x/y/b.tsx', 'test/a.test.ts', 'x/src/a.ts'];
    const folder = newFolder(Object.fromEntries(files.map((path) => [path, ''])));
    const part = fc.constantFrom('*', '**', 'src', 'x', '*.ts', 'a.*', '?.ts', '*.{ts,tsx}', '[ab].ts', '*.test.*');
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
        const glob = parts.join('/');
        const run = execFileSync('sh', ['-c', '"$0" --no-config --files --sort=path -g "$1" || true', rgPath, glob], {
          cwd: folder,
          encoding: 'utf8',
        });
        expect(files.filter(compileGlob(glob).matches).sort()).toEqual(run.split('\n').filter(Boolean).sort());
      }),
      { numRuns: tries(60) },
    );
  });

  it('takes no longer for hostile patterns', () => {
    const nasty = compileGlob(`${'*a'.repeat(100)}/${'**/'.repeat(100)}${'*a'.repeat(100)}b`);
    expect(nasty.matches(`${'a'.repeat(200)}/${'a/'.repeat(500)}${'a'.repeat(200)}`)).toBe(false);
  });

  it('is distinguished from a name', () => {
    for (const text of ['*.ts', 'a?', '{a,b}', 'src/**']) expect(isGlob(text)).toBe(true);
    for (const text of ['[id].tsx', 'usrctl', 'a.b', '{x}']) expect(isGlob(text)).toBe(false);
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Compiler, GUEST, LIBRARY } from './compiler.js';
import { ORDINARY_SCRIPTS } from './ordinary-scripts.js';

const CORPUS = new URL('../corpus/scripts/', import.meta.url);

let compiler: Compiler;
beforeAll(() => {
  compiler = new Compiler();
});
afterAll(() => compiler.close());

const codesOf = async (body: string) => (await compiler.check(body)).map(({ code }) => code);

describe('the declarations by themselves', () => {
  it('have no errors', async () => {
    expect(await compiler.check('')).toEqual([]);
  });

  it('are tested: an error in the library, or between it and the guest declarations, is detected', async () => {
    const faulty = new Compiler(`${LIBRARY}interface Planted{a: Missing}\n`, `${GUEST}\ndeclare const console: 1;\n`);
    const codes = (await faulty.check('')).map(({ code }) => code);
    await faulty.close();
    expect(codes).toHaveLength(3);
    expect(new Set(codes)).toEqual(new Set([2304, 2451]));
  });
});

describe('ordinary scripts', () => {
  it.each(Object.entries(ORDINARY_SCRIPTS))('%s: checks clean', async (_title, body) => {
    expect(await compiler.check(body)).toEqual([]);
  });

  it('no script that runs misses a global', async () => {
    const unknownNames = [2304, 2318, 2503, 2550, 2551, 2552, 2580, 2581, 2583, 2584, 2591, 2593];
    const files = readdirSync(CORPUS);
    const missed: string[] = [];
    for (const file of files) {
      const found = await compiler.check(readFileSync(new URL(file, CORPUS), 'utf8'));
      missed.push(...found.filter(({ code }) => unknownNames.includes(code)).map(({ text }) => `${file}: ${text}`));
    }
    expect(files.length).toBeGreaterThan(100);
    // The script reads an undeclared name, and catches the error.
    expect(missed).toEqual(["scope-hoisting-and-tdz.js.txt: Cannot find name 'undeclared'."]);
  });
});

describe('a global that the sandbox lacks', () => {
  it.each([
    "await fetch('https://example.com')",
    'process.env',
    "require('fs')",
    'window.name',
    'document.title',
    'global.name',
    'new SharedArrayBuffer(1)',
    'Atomics',
    "eval('1')",
    'alert(1)',
    'setImmediate(() => {})',
    'new Worker("a")',
    '__dirname',
    'Temporal.Now',
    'WebAssembly',
  ])('%s: is an unknown name', async (expression) => {
    const codes = await codesOf(`void (${expression});`);
    expect(codes).toHaveLength(1);
    expect([2304, 2552, 2580, 2583, 2584, 2591]).toContain(codes[0]);
  });

  it.each([
    ["new Function('return 1')", 2351],
    ["Function('return 1')", 2349],
    ["'a'.noSuchMethod()", 2339],
    ['[1].lenght', 2551],
    ['Math.square(2)', 2339],
    ['console.dirxml([])', 2339],
    ["new Intl.Segmenter('en')", 2550],
    ['new Date().toTemporalInstant()', 2550],
  ])('%s: is error %i', async (expression, code) => {
    expect(await codesOf(`void (${expression});`)).toEqual([code]);
  });
});

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';
import { findMarks, readMutants, readTable, withoutDefence } from '../defences.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const marks = findMarks();
const table = readTable();

describe('the defences', () => {
  it('are marked in the sources under unique names', () => {
    expect(marks.length).toBeGreaterThan(150);
    const names = marks.map(({ name }) => name);
    expect(names.filter((name, index) => names.indexOf(name) < index)).toEqual([]);
  });

  it('have the same names as the rows of design/defences.md', () => {
    expect(table.map(({ name }) => name).toSorted()).toEqual(marks.map(({ name }) => name).toSorted());
  });

  it('have tests with the titles in the table', () => {
    const missing = table.filter(({ file, title }) => {
      const path = join(root, file);
      return !existsSync(path) || !readFileSync(path, 'utf8').includes(title);
    });
    expect(missing).toEqual([]);
  });

  it('have the names of all mutants', () => {
    const names = new Set(marks.map(({ name }) => name));
    expect(readMutants().size).toBeGreaterThan(100);
    expect([...readMutants().keys()].filter((name) => !names.has(name))).toEqual([]);
  });

  it('can each be removed, and leave code that parses', () => {
    for (const mark of marks) {
      const source = withoutDefence(mark);
      const lang = mark.file.endsWith('.js') ? 'js' : 'ts';
      expect(parseSync(mark.file.replace(/\.cts$/u, '.ts'), source, { lang }).errors, mark.name).toEqual([]);
    }
  });
});

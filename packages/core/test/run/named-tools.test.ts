import { expect, it } from 'vitest';
import { defineTool } from '#core/index.js';
import { NamedTools } from '#core/run/named-tools.js';

it('the tools that a source names are found once for each source', () => {
  const tool = (name: string) => defineTool({ name, description: name, execute: () => 1 });
  const named = new NamedTools([tool('files.read'), tool('write')]);
  const source = 'await tools.files.read()';
  expect(named.in(source).map(({ name }) => name)).toEqual(['files.read']);
  expect(named.in(source)).toBe(named.in(source));
  expect(named.in('return 1')).toEqual([]);
});

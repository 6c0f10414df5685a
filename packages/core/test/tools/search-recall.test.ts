import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createCatalog } from '#core/tools/catalog.js';
import type { Tool } from '#core/protocol/index.js';
import { hasPublicTools, publicTools } from './public-tools.js';

/** Lines of a question, the tools that answer it, and the kind of its words, separated by tabs. */
function questions(file: string): { question: string; accepted: ReadonlySet<string> }[] {
  const text = readFileSync(new URL(file, import.meta.url), 'utf8');
  return text.split('\n').flatMap((line) => {
    const [question = '', names = ''] = line.split('\t');
    return names === '' ? [] : [{ question, accepted: new Set(names.split('|')) }];
  });
}

const written = (name: string) => name.replace(/\W+/gu, '_');

/** A catalog of all public tools, and the name of each tool in the lists of questions by its name in the catalog. */
function publicCatalog() {
  const tools = new Map<string, Tool>();
  const listed = new Map<string, string>();
  for (const tool of [...publicTools('mcp.json'), ...publicTools('functions.json')]) {
    const name = `${written(tool.server)}.${written(tool.name)}`;
    listed.set(name, `${tool.server}/${tool.name}`);
    if (!tools.has(name)) tools.set(name, { ...tool, name } as never);
  }
  return { catalog: createCatalog([...tools.values()]), listed };
}

describe.skipIf(!hasPublicTools)('a search of the catalog of 869 public tools', () => {
  it.each([
    ['search-questions.txt', 0.9],
    ['search-held-out.txt', 0.8],
  ])('has a right tool among the first ten for most questions: %s', (file, least) => {
    const { catalog, listed } = publicCatalog();
    const asked = questions(file);
    expect(asked.length).toBeGreaterThanOrEqual(100);
    const missed = asked.filter(
      ({ question, accepted }) => !catalog.search(question).some(({ name }) => accepted.has(listed.get(name)!)),
    );
    const recall = 1 - missed.length / asked.length;
    expect(recall, missed.map(({ question }) => question).join('\n')).toBeGreaterThanOrEqual(least);
  });
});

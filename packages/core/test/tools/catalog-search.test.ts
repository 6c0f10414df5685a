import { describe, expect, it } from 'vitest';
import { createCatalog } from '#core/tools/catalog.js';
import { defineTool } from '#core/tools/define-tool.js';

const names = ['bus', 'bun', 'class', 'clasp', 'files', 'query'];
const found = catalogOf(...names);

function catalogOf(...tools: string[]): (query: string) => string[] {
  const catalog = createCatalog(
    tools.map((name) => defineTool({ name, description: '', inputSchema: {}, execute: () => null })),
  );
  return (query) => catalog.search(query).map(({ name }) => name);
}

describe('a search for a tool', () => {
  it('finds a word in singular and plural', () => {
    for (const query of ['file', 'files']) expect(found(query)).toEqual(['files']);
    for (const query of ['query', 'queries']) expect(found(query)).toEqual(['query']);
  });

  it('does not take the last letter of another word for a plural', () => {
    for (const query of ['bus', 'bun', 'class', 'clasp']) expect(found(query)).toEqual([query]);
  });

  it('finds a word in its other forms', () => {
    const tools = catalogOf('create_branch', 'merge_pull', 'running_total');
    for (const query of ['creating', 'creation', 'created']) expect(tools(query)).toEqual(['create_branch']);
    expect(tools('merging')).toEqual(['merge_pull']);
    expect(tools('run')).toEqual(['running_total']);
  });

  it('finds a tool by a word that stands for the same, and prefers the word itself', () => {
    expect(catalogOf('refund_order', 'send_invoice')('reimburse')).toEqual(['refund_order']);
    expect(catalogOf('delete_file', 'remove_file')('remove')).toEqual(['remove_file', 'delete_file']);
  });

  it('prefers a tool that matches more of the words', () => {
    const tools = catalogOf('unique_word', 'list_pull_requests', 'list_pull_comments', 'list_pull_reviews');
    expect(tools('list pull requests unique')[0]).toBe('list_pull_requests');
  });

  it('ignores words that say nothing, unless there are no others', () => {
    const tools = catalogOf('who_am_i', 'tell_weather');
    expect(tools('what is the weather')).toEqual(['tell_weather']);
    expect(tools('who am i')).toEqual(['who_am_i']);
  });
});

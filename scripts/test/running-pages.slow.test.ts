import { expect, describe, it } from 'vitest';
import { blocksOf, checkGenerated, PageFolder, playPage, readPage } from './documents.js';

/** Maximum time for a page, which runs a dozen programs one after the other. */
const PAGE_MS = 300_000;

const same = (found: string, expected: string) => expect(found).toBe(expected);

describe('pages that run', () => {
  it.each([
    'README.md',
    'docs/tutorial.md',
    'docs/how-to/what-the-model-sees.md',
    'docs/how-to/exec-and-rules.md',
    'docs/how-to/long-scripts.md',
    'docs/how-to/share-variables.md',
    'docs/how-to/approvals.md',
    'docs/how-to/undo.md',
    'docs/how-to/conversation.md',
    'docs/how-to/mcp-servers.md',
    'packages/cli/README.md',
    'packages/client/README.md',
    'packages/core/README.md',
    'packages/mcp/README.md',
    'packages/server/README.md',
    'packages/tools/README.md',
  ])(
    '%s: every command is run, and prints what is shown',
    (path) => {
      const marked = blocksOf(readPage(path)).filter(({ language }) => ['sh', 'js', 'ts'].includes(language));
      expect(marked.length).toBeGreaterThan(1);
      expect(marked.filter(({ marker }) => marker === '')).toEqual([]);
      const { commands, outputs } = playPage(path, same);
      expect(commands).toBeGreaterThan(0);
      expect(outputs).toBeGreaterThan(0);
    },
    PAGE_MS,
  );

  it('docs/how-to/save-prompts-and-scripts.md shows what its program prints', () => {
    expect(playPage('docs/how-to/save-prompts-and-scripts.md', same)).toEqual({ commands: 1, outputs: 1 });
  });

  it('docs/how-to/watch-it.md shows what its program prints', () => {
    checkGenerated('docs/how-to/watch-it.md', 'tracing', readPage('examples/14-watch-it/tracing.ts'), same);
    expect(playPage('docs/how-to/watch-it.md', same)).toEqual({ commands: 1, outputs: 1 });
  });

  it('docs/explanation/a-whole-run.md shows a real run', () => {
    expect(playPage('docs/explanation/a-whole-run.md', same)).toEqual({ commands: 1, outputs: 1 });
  });

  it('a page with other content is detected', () => {
    const findings: string[] = [];
    const folder = new PageFolder();
    expect(folder.run('echo one; exit 3')).toEqual({ output: 'one\n', status: 3 });
    folder.remove();
    const [block] = blocksOf('<!-- output -->\n```text\ntwo\n```\n');
    expect(block).toEqual({ marker: 'output', language: 'text', content: 'two\n', start: 24 });
    expect(() =>
      checkGenerated('docs/how-to/watch-it.md', 'nothing of this name', '', (found) => findings.push(found)),
    ).toThrow('no block');
    if (process.env.UPDATE_DOCUMENTS === undefined)
      checkGenerated('docs/how-to/watch-it.md', 'tracing', 'something else', (found) => findings.push(found));
    else findings.push('');
    expect(findings).toHaveLength(1);
  });
});

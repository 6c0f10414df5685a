import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runResearch } from '../economy/research/run.mjs';
import { SUMMARY, WAYS } from '../economy/research/scenario.mjs';
import { researchPage } from '../economy/research/table.mjs';
import { sharedThreads } from '@toolscript/testkit/shared-threads';

const PAGE = new URL('../../docs/explanation/economy.md', import.meta.url);
const RESULT = new URL('../results/research-scenario.json', import.meta.url);
const GENERATED = /(?<=<!-- generated research-scenario -->\n)[\s\S]*(?=<!-- end of research-scenario -->)/u;

const result = JSON.parse(readFileSync(RESULT, 'utf8'));

describe('research by a script', () => {
  it('searches, saves three pages, has a sub-agent summarise them and writes the file by its key, for the committed tokens', async () => {
    const figures = await runResearch('scripts', { threads: sharedThreads() });
    expect(figures).toEqual(result.rows[0].ways.scripts);
    expect(figures.carriedTokens).toBeLessThan(result.rows[0].ways.parallel.carriedTokens / 5);
  });

  it('is not done if the summary was written without reading the pages', async () => {
    const turns = WAYS.parallel.filter((turn) => !JSON.stringify(turn).includes('fetchUrl'));
    const options = { threads: sharedThreads(), turns };
    await expect(runResearch('parallel', options)).rejects.toThrow('which was not read');
  });

  it('is not done if the file has another text than the summary', async () => {
    const turns = WAYS.parallel.map((turn) => JSON.parse(JSON.stringify(turn).replace(/Three pages/u, '3 pages')));
    expect(SUMMARY).toContain('Three pages');
    const options = { threads: sharedThreads(), turns };
    await expect(runResearch('parallel', options)).rejects.toThrow('the file is not the summary');
  });
});

describe('the page', () => {
  it('shows the committed result of the research', () => {
    const page = readFileSync(PAGE, 'utf8');
    expect(page).toMatch(GENERATED);
    const shown = page.replace(GENERATED, () => `\n${researchPage(result)}\n`);
    if (process.env.UPDATE_DOCUMENTS === undefined) expect(page).toBe(shown);
    else writeFileSync(PAGE, shown);
  });
});

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { describePage } from './support/describe-page.js';

const ANSWER = [
  'The answer, with `code`.',
  '```python\nprint(1)\n```',
  `| ${'name '.repeat(3)}| b |\n|---|---|\n| ${'averylongword'.repeat(12)} | 2 |`,
  '- [ ] open\n- [x] done',
  'שלום לכולם',
].join('\n\n');

const SCENES = {
  reads: [
    {
      type: 'script',
      code: "return await Promise.all(['a', 'b', 'c'].map((text) => tools.echo({ text })));",
    },
  ],
  answers: [{ type: 'text', text: ANSWER }],
} as const;

describePage('the reading of a conversation', SCENES, (suite) => {
  it('shows a script that has ended as one line, which opens and closes', async () => {
    const { page, problems } = await suite.watch('reads');
    await page.getByText('It has ended.').waitFor();
    await page.evaluate(() => localStorage.setItem('toolscript-scripts', 'folded'));
    await page.reload();
    const line = page.getByRole('button', { name: /^echo ×3 · \d/u });
    await line.click();
    await page.locator('.source-line').first().waitFor();
    await page.getByRole('button', { name: 'Fold the script' }).click();
    await line.waitFor();
    await expect.poll(() => page.locator('.source-line').count()).toBe(0);
    expect(problems).toEqual([]);
  });

  it('names code and copies it, scrolls wide tables, and gives each paragraph its direction', async () => {
    const { page } = await suite.watch('answers');
    const markdown = page.locator('.markdown');
    await markdown.getByText('שלום').waitFor();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await markdown.locator('.code-head').getByText('python').waitFor();
    await markdown.locator('.tok-number').getByText('1').waitFor();
    await markdown.getByRole('button', { name: 'Copy the code' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe('print(1)');
    const [table, column] = await Promise.all(
      ['.markdown .scroll-x table', '.markdown'].map((part) =>
        page.locator(part).evaluate((element) => element.getBoundingClientRect().width),
      ),
    );
    expect(table).toBeGreaterThan(column!);
    await expect
      .poll(() => markdown.getByText('שלום').evaluate((element) => getComputedStyle(element).direction))
      .toBe('rtl');
    await expect
      .poll(() => markdown.getByText('The answer').evaluate((element) => getComputedStyle(element).direction))
      .toBe('ltr');
    await markdown.getByRole('checkbox', { name: 'Done' }).waitFor();
    await markdown.getByRole('checkbox', { name: 'Open' }).waitFor();
  });

  it('takes feedback to an answer, keeps it, and exports it as JSON Lines', async () => {
    const { page, threadId, runId } = await suite.watch('answers');
    const bar = page.getByRole('group', { name: 'This answer' });
    await bar.getByRole('button', { name: 'Bad' }).click();
    await bar.getByLabel('Note about the answer').fill('too short');
    await page.reload();
    await bar.getByRole('button', { name: 'Bad', pressed: true }).waitFor();
    await expect.poll(() => bar.getByLabel('Note about the answer').inputValue()).toBe('too short');
    await page.goto(`${suite.server.url}/settings/access`);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export the feedback as JSON Lines' }).click(),
    ]);
    const [line, rest] = readFileSync((await download.path())!, 'utf8').split('\n');
    expect(rest).toBe('');
    expect(JSON.parse(line!)).toMatchObject({ threadId, runId, rating: 'bad', note: 'too short', answer: ANSWER });
  });

  it('asks again in a branch', async () => {
    const { page, threadId } = await suite.watch('answers');
    await page.getByRole('button', { name: 'Ask again' }).click();
    await expect.poll(() => page.getByLabel('Prompt').inputValue()).toBe('answers');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'branch' }).waitFor();
    expect(page.url()).not.toContain(threadId);
  });
});

import { readFile } from 'node:fs/promises';
import { filePlace } from '@toolscript/core/internal';
import { expect, it } from 'vitest';
import { describePage } from './support/describe-page.js';
import { HOSTILE_TEXTS } from './support/hostile-texts.js';

const SCENES = { hello: [{ type: 'text', text: 'Hello to you.' }] } as const;

describePage('the files of a conversation', SCENES, (suite) => {
  const saved = async () => {
    const { threadId, runId } = await suite.server.play('hello');
    await suite.server.follow(runId);
    const { documents } = suite.server.stores;
    const plan = filePlace(threadId, 'notes/plan.md');
    await documents.save({ ...plan, text: 'first', about: { title: 'The plan', source: { kind: 'script' } } });
    await documents.save({ ...plan, text: 'second'.repeat(300), about: { source: { kind: 'script' } } });
    const source = { kind: 'web', url: 'https://example.com/a' };
    await documents.save({ ...filePlace(threadId, 'web-1'), text: '<b>', about: { title: 'A page', source } });
    return { threadId, documents };
  };

  it('are listed with version, size and source, downloaded by version, and deleted', async () => {
    const { threadId, documents } = await saved();
    const { page, problems } = await suite.open();
    await page.goto(`${suite.server.url}/threads/${threadId}`);
    await page.getByRole('button', { name: '2 files' }).click();
    const panel = page.getByRole('complementary', { name: 'Files of the conversation' });
    await panel.getByText('From the web: https://example.com/a').waitFor();
    await panel.getByRole('region', { name: 'Web pages' }).getByText('web-1').waitFor();
    await panel.getByRole('region', { name: 'Texts' }).getByText('notes/plan.md').waitFor();
    await panel.getByText('Version 2 · 1.8 KB').waitFor();
    await panel.getByRole('button', { name: 'Versions of notes/plan.md' }).click();
    await panel.getByText('Version 1 · 5 bytes').waitFor();
    if (process.env['FILES_SCREENSHOT'] !== undefined) await page.screenshot({ path: process.env['FILES_SCREENSHOT'] });
    for (const [version, text] of [
      [1, 'first'],
      [2, 'second'.repeat(300)],
    ] as const) {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        panel.getByRole('button', { name: `Download version ${version} of notes/plan.md` }).click(),
      ]);
      expect(download.suggestedFilename()).toBe('plan.md');
      expect(await readFile(await download.path(), 'utf8')).toBe(text);
    }
    await panel.getByRole('button', { name: 'Delete notes/plan.md' }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await documents.read(filePlace(threadId, 'notes/plan.md'))).toBeDefined();
    await panel.getByRole('button', { name: 'Delete notes/plan.md' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('button', { name: '1 file', exact: true }).waitFor();
    expect(await documents.read(filePlace(threadId, 'notes/plan.md'))).toBeUndefined();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    expect(problems).toEqual([]);
  });

  it('are not mentioned where there are none, and appear when a script has saved one', async () => {
    const { page, threadId, runId, problems } = await suite.watch('hello');
    await suite.server.follow(runId);
    await page.getByText('Hello to you.').waitFor();
    await expect.poll(() => page.locator('.files-button').count()).toBe(0);
    await suite.server.stores.documents.save({ ...filePlace(threadId, 'a'), text: '' });
    await suite.server.play('hello', { threadId });
    await page.getByRole('button', { name: '1 file', exact: true }).waitFor();
    expect(problems).toEqual([]);
  });

  it('show hostile names, titles and addresses as text', async () => {
    const { threadId, documents } = await saved();
    for (const [index, text] of HOSTILE_TEXTS.entries()) {
      const about = { title: text.slice(0, 200), source: { kind: 'web', url: text.slice(0, 200) } };
      await documents.save({ ...filePlace(threadId, `${index}${text}`.slice(0, 256)), text, about });
    }
    const { page, problems } = await suite.open({ viewport: { width: 390, height: 844 } });
    await page.goto(`${suite.server.url}/threads/${threadId}`);
    await page.locator('.files-button').click();
    await page.getByRole('complementary', { name: 'Files of the conversation' }).getByText('web-1').waitFor();
    if (process.env['FILES_SCREENSHOT'] !== undefined)
      await page.screenshot({ path: `${process.env['FILES_SCREENSHOT']}.narrow.png` });
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    await expect.poll(() => page.locator('.files').locator('script, img, iframe, b').count()).toBe(0);
    expect(problems).toEqual([]);
  });
});

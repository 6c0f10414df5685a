import { expect, it } from 'vitest';
import { describePage } from './support/describe-page.js';

const SCENES = {
  'fails at night': [{ type: 'error', code: 'quota', message: 'There is no credit.' }],
  'answers at night': [{ type: 'text', text: 'Good night.' }],
  'reads by day': [{ type: 'script', code: "return await tools.snapshot({ path: 'maps/Atlas.png' })" }],
} as const;

describePage('finding and moving', SCENES, (suite) => {
  it('finds conversations by words and state with Ctrl-K, and opens them', async () => {
    const [failed, answered] = [await suite.server.play('fails at night'), await suite.server.play('answers at night')];
    const { page, problems } = await suite.open();
    await page.locator('.thread-row .dot[data-status=failed]').waitFor();
    await page.getByLabel('Prompt').focus();
    await page.keyboard.press('Control+k');
    const finder = page.getByRole('dialog', { name: 'Find a conversation' });
    const found = finder.getByRole('list', { name: 'Conversations found' }).getByRole('listitem');
    await finder.getByRole('searchbox').fill('at night');
    await found.filter({ hasText: 'answers at night' }).waitFor();
    await finder.getByRole('button', { name: 'Failed' }).click();
    await found.filter({ hasText: 'answers at night' }).waitFor({ state: 'detached' });
    await found.filter({ hasText: 'fails at night' }).getByRole('link').click();
    await page.waitForURL(`**/threads/${failed.threadId}`);
    await finder.waitFor({ state: 'detached' });
    await page.keyboard.press('Control+k');
    await finder.getByRole('searchbox').fill('answers at');
    await found.filter({ hasText: 'fails' }).waitFor({ state: 'detached' });
    await found.filter({ hasText: 'answers at night' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/threads/${answered.threadId}`);
    expect(problems).toEqual([]);
  });

  it('finds conversations by their answers, and by the names of files', async () => {
    await suite.server.play('answers at night');
    await suite.server.play('reads by day');
    const { page } = await suite.open();
    await page.keyboard.press('Control+k');
    const finder = page.getByRole('dialog', { name: 'Find a conversation' });
    const found = finder.getByRole('list', { name: 'Conversations found' }).getByRole('listitem');
    for (const [words, title] of [
      ['good NIGHT', 'answers at night'],
      ['maps/atlas', 'reads by day'],
    ] as const) {
      await finder.getByRole('searchbox').fill('');
      await finder.getByRole('searchbox').fill(words);
      await expect.poll(async () => [...new Set(await found.allInnerTexts())]).toEqual([title]);
    }
  });

  it('lists the keys with “?”, but not while something is typed', async () => {
    const { page } = await suite.open();
    await page.getByLabel('Prompt').focus();
    await page.keyboard.type('why?');
    await expect.poll(() => page.getByLabel('Prompt').inputValue()).toBe('why?');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).getByText('finds a conversation').waitFor();
  });

  it('shares the session with a new tab, and signs out of all tabs', async () => {
    const { threadId } = await suite.server.play('answers at night');
    const { page } = await suite.open();
    const other = await page.context().newPage();
    await other.goto(`${suite.server.url}/threads/${threadId}`);
    await other.getByText('Good night.').waitFor();
    await other.getByRole('button', { name: 'Sign out' }).click();
    for (const tab of [other, page]) await tab.locator('.sign-in').waitFor();
    await page.reload();
    await page.locator('.sign-in').waitFor();
  });
});

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
    await finder.locator('input:focus').waitFor();
    await page.keyboard.type('at night');
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

  it('opens a link to a turn and to a call, also of early turns', async () => {
    const { threadId, runId } = await suite.server.play('reads by day');
    const { page } = await suite.open();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(`${suite.server.url}/threads/${threadId}`);
    const turn = page.locator(`#${runId}`);
    const copied = async (name: string) => {
      await page.getByRole('button', { name }).click();
      await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toContain(runId);
      return page.evaluate(() => navigator.clipboard.readText());
    };
    const toTurn = await copied('Copy a link to this turn');
    await turn.getByRole('radio', { name: /^Calls/u }).click();
    await turn.getByRole('button', { name: 'snapshot', exact: true }).click();
    await page.getByRole('heading', { name: 'Call', exact: true }).waitFor();
    await page.evaluate(() => navigator.clipboard.writeText(''));
    const toCall = await copied('Copy a link to this call');
    for (let count = 0; count < 13; count++) await suite.server.play('answers at night', { threadId });
    const other = await page.context().newPage();
    await other.goto(toTurn);
    const linked = other.locator('[aria-current=location]').getByText('reads by day', { exact: true });
    await expect.poll(() => linked.evaluate(isInView)).toBe(true);
    await expect.poll(() => other.getByText('Good night.').count()).toBe(13);
    await expect.poll(() => linked.evaluate(isInView)).toBe(true);
    await other.goto(`${suite.server.url}/threads/${threadId}`);
    await other.goto(toCall);
    const details = other.getByRole('complementary', { name: 'Details of the call' });
    await details.getByText('maps/Atlas.png').first().waitFor();
    await other.goto(`${toTurn}x`);
    await other.getByText('The link names a turn that is not in this conversation.').waitFor();
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

function isInView(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  const pane = element.closest('.scroller')!.getBoundingClientRect();
  return top >= pane.top && bottom <= pane.bottom;
}

import { expect, it } from 'vitest';
import { focusCard, pressOnCard } from './support/approval-cards.js';
import { describePage } from './support/describe-page.js';

const SCENES = {
  four: [
    {
      type: 'script',
      code: "return await Promise.all(['a', 'b', 'c', 'd'].map((path) => tools.rewrite({ path, content: 'one\\n\"two\"' })));",
    },
  ],
  one: [{ type: 'script', code: "return await tools.rewrite({ path: 'a', content: 'one\\n\"two\"' });" }],
} as const;

describePage('the review of calls', SCENES, (suite) => {
  it('shows the waiting calls of a conversation as a list and one diff, and approves all but the unchecked ones', async () => {
    const { page, problems } = await suite.watch('four');
    const list = page.getByRole('group', { name: '4 calls wait for you' });
    await list.getByText('1 of 4').waitFor();
    await list.getByRole('button', { name: 'Show rewrite: Replace c, +1 −1' }).click();
    await list.getByText('3 of 4').waitFor();
    const call = page.getByRole('region', { name: 'The call', exact: true });
    await call.getByText('+++ b/c').waitFor();
    await expect.poll(() => call.locator('.diff-removed').textContent()).toBe('-old');
    await expect.poll(() => call.textContent()).not.toContain('⏎');
    await list.getByRole('checkbox', { name: 'Approve with the others: rewrite: Replace b, +1 −1' }).uncheck();
    await list.getByRole('button', { name: 'Approve 3 of 4' }).click();
    await list.waitFor({ state: 'detached' });
    await call.getByText('+++ b/b').waitFor();
    await pressOnCard(page, 'a');
    await page.getByText('It has ended.').waitFor();
    expect(problems).toEqual([]);
  });

  it('goes to the next and the previous call by key, and the card in view has the focus', async () => {
    const { page } = await suite.watch('four');
    await focusCard(page.locator('.approval'));
    for (const [key, path] of [
      ['j', 'b'],
      ['j', 'c'],
      ['k', 'b'],
    ] as const) {
      await page.keyboard.press(key);
      await page.locator('.approval:focus').getByText(`+++ b/${path}`).waitFor();
    }
  });

  it('decides in one tab, and a key in another tab decides nothing about the call that takes the place', async () => {
    const first = await suite.watch('four');
    const second = await suite.open();
    await second.page.goto(`${suite.server.url}/threads/${first.threadId}`);
    await focusCard(first.page.locator('.approval'));
    await focusCard(second.page.locator('.approval'));
    await first.page.keyboard.press('a');
    for (const { page } of [first, second]) {
      await page.getByRole('group', { name: '3 calls wait for you' }).waitFor();
      await page.keyboard.press('a');
      await page.keyboard.press('a');
      await expect.poll(() => page.locator('.approval:focus-within').count()).toBe(0);
    }
    const { body } = await suite.server.call('GET', '/api/v2/approvals');
    expect((body.data as { runId: string }[]).filter(({ runId }) => runId === first.runId)).toHaveLength(3);
  });

  it('edits a text of several lines as text', async () => {
    const { page } = await suite.watch('one');
    await pressOnCard(page, 'e');
    const content = page.getByRole('textbox', { name: 'content' });
    await expect.poll(() => content.inputValue()).toBe('one\n"two"');
    await content.fill('one\n"three"\nfour');
    await page.getByRole('button', { name: 'Approve the edited call' }).click();
    await page.getByText('You edited 1 call before approving').click();
    const edit = page.getByRole('region', { name: 'Your edit of rewrite, line 1' });
    await expect.poll(() => edit.locator('.diff-added').allTextContents()).toEqual(['+"three"', '+four']);
    await page.getByText('It has ended.').waitFor();
  });

  it('shows a rule as a whole before it counts, and the whole text at a click', async () => {
    const { page } = await suite.watch('one');
    await page.locator('.approval select').selectOption('script');
    await page
      .getByText('Approving also allows every call of rewrite that this script makes, with any arguments.')
      .waitFor();
    await page.getByText('The whole content').click();
    await page.getByRole('region', { name: 'The whole content' }).getByText('"two"').waitFor();
  });
});

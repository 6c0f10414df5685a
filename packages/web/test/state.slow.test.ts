import { expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import { pressOnCard } from './support/approval-cards.js';
import { describePage } from './support/describe-page.js';

const SCENES = {
  works: [{ type: 'script', code: "console.log('at work'); await sleep(55_000); return 1;" }],
  publish: [{ type: 'script', code: "return await tools.publish({ text: 'one' });" }],
  fails: [{ type: 'error', code: 'quota', message: 'There is no credit.' }],
  next: [{ type: 'text', text: 'This is the next answer.' }],
} as const;

describePage('the state of a conversation', SCENES, (suite) => {
  const pill = (page: Page, text: string) => page.locator('.main-head [role=status]').filter({ hasText: text });
  const states = async (threadId: string) => {
    const { body } = await suite.server.call('GET', `/api/v2/threads/${threadId}`);
    return (body.runs as { status: string }[]).map(({ status }) => status);
  };
  const ask = async (page: Page, prompt: string) => {
    await page.getByLabel('Prompt').fill(prompt);
    await page.keyboard.press('Enter');
  };
  /** A conversation that works, with a queued message. */
  const watchQueue = async () => {
    const watched = await suite.watch('works');
    await watched.page.locator('.console-line').getByText('at work').waitFor();
    await ask(watched.page, 'next');
    await watched.page.getByRole('region', { name: 'Queued message' }).getByText('next').waitFor();
    return watched;
  };

  it('is that of the run that works while a message is queued, and Stop ends this run, also after a reload', async () => {
    const { page, threadId, problems } = await watchQueue();
    await pill(page, 'Working').waitFor();
    await page.reload();
    await page.getByRole('region', { name: 'Queued message' }).getByText('next').waitFor();
    await pill(page, 'Working').waitFor();
    await expect.poll(() => page.title()).toBe('Working · Toolscript');
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByText('This is the next answer.').waitFor();
    await expect.poll(() => states(threadId)).toEqual(['cancelled', 'completed']);
    await pill(page, 'Done').waitFor();
    await page.getByRole('region', { name: 'Queued message' }).waitFor({ state: 'detached' });
    expect(problems).toEqual([]);
  });

  it('lets the user edit a queued message, remove it, and send it now', async () => {
    const { page, threadId } = await watchQueue();
    const queued = page.getByRole('region', { name: 'Queued message' });
    await queued.getByRole('button', { name: 'Edit' }).click();
    await queued.waitFor({ state: 'detached' });
    await expect.poll(() => page.getByLabel('Prompt').inputValue()).toBe('next');
    await page.keyboard.press('Enter');
    await queued.getByRole('button', { name: 'Remove' }).click();
    await queued.waitFor({ state: 'detached' });
    await expect.poll(async () => (await states(threadId))[0]).toBe('running');
    await ask(page, 'next');
    await queued.getByRole('button', { name: 'Send now' }).click();
    await page.getByText('This is the next answer.').waitFor();
    await pill(page, 'Done').waitFor();
    await expect.poll(() => states(threadId)).toEqual(['cancelled', 'cancelled', 'cancelled', 'completed']);
  });

  it('is never “Done” above a call that waits for the user', async () => {
    const { page, threadId } = await suite.watch('publish');
    await page.locator('.approval').waitFor();
    await suite.server.play('next', { threadId });
    await page.getByText('It has ended.').waitFor();
    await page.reload();
    await page.getByText('It has ended.').waitFor();
    await page.locator('.approval').waitFor();
    await pill(page, 'Waiting for you').waitFor();
    await page.locator('.thread-row[data-current] .dot[data-status=waiting]').waitFor();
  });

  it('shows a conversation that has failed as failed, also in the list', async () => {
    const { page, threadId } = await suite.watch('fails');
    await pill(page, 'Failed').waitFor();
    await page.goto(suite.server.url);
    const row = page.locator('.thread-row').filter({ has: page.locator(`a[href*="${threadId}"]`) });
    await row.locator('.dot[data-status=failed]').waitFor();
    await row.getByText('failed', { exact: true }).waitFor();
  });

  it('shows the user’s Stop and Deny as such, and not as failures', async () => {
    const { page } = await suite.watch('works');
    await page.locator('.console-line').getByText('at work').waitFor();
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await pill(page, 'Stopped').waitFor();
    await page.locator('.result').getByText('Stopped', { exact: true }).waitFor();
    await expect.poll(() => page.locator('.failure').count()).toBe(0);
    const { threadId } = await suite.server.play('publish');
    await page.goto(`${suite.server.url}/threads/${threadId}`);
    await pressOnCard(page, 'd');
    await page.getByRole('button', { name: 'Deny', exact: true }).click();
    await page.getByText('It has ended.').waitFor();
    await page.locator('.result').getByText('Denied', { exact: true }).waitFor();
    await expect.poll(() => page.locator('.failure, .dot[data-status=error], [data-failed]').count()).toBe(0);
  });

  it('says that the user has edited a call, and what was changed', async () => {
    const { page } = await suite.watch('publish');
    await pressOnCard(page, 'e');
    await page.getByRole('textbox', { name: 'Arguments as JSON' }).focus();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText('{ "text": "two" }');
    await page.getByRole('button', { name: 'Approve the edited call' }).click();
    await page.getByText('You edited 1 call before approving').click();
    const edit = page.getByRole('region', { name: 'Your edit of publish, line 1' });
    await expect.poll(() => edit.locator('.diff-removed').textContent()).toBe('-text: one');
    await expect.poll(() => edit.locator('.diff-added').textContent()).toBe('+text: two');
  });
});

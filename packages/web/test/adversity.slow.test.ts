import { expect, it } from 'vitest';
import { focusCard, pressOnCard } from './support/approval-cards.js';
import { describePage } from './support/describe-page.js';

const SCENES = {
  hello: [{ type: 'text', text: 'Hello to you.' }],
  waits: [{ type: 'script', code: "await tools.publish({ text: 'x' });" }],
  both: [{ type: 'script', code: "return await Promise.all(['one', 'two'].map((text) => tools.publish({ text })));" }],
} as const;

describePage(
  'the page when things go wrong',
  SCENES,
  (suite) => {
    const pending = async () => (await suite.server.call('GET', '/api/v2/approvals')).body.data as unknown[];

    it('decides about one call alone if the key is pressed twice, or the button is clicked twice', async () => {
      for (const decide of ['key', 'click']) {
        const { page, runId } = await suite.watch('both');
        await page.locator('.batch li').nth(1).waitFor();
        if (decide === 'key') {
          await focusCard(page.locator('.approval').first());
          for (let press = 0; press < 6; press += 1) await page.keyboard.press('a', { delay: 10 });
        } else await page.locator('.approval').first().getByRole('button', { name: 'Approve' }).dblclick({ delay: 60 });
        await page.locator('.batch').waitFor({ state: 'detached' });
        await page.waitForTimeout(200);
        expect(await pending(), decide).toHaveLength(1);
        await suite.server.call('POST', `/api/v2/runs/${runId}/cancel`);
        await page.waitForFunction(() => document.querySelectorAll('.approval').length === 0);
      }
    });

    it('says that a call was decided elsewhere, and shows the decision', async () => {
      const { page, problems } = await suite.watch('waits');
      await page.locator('.approval').waitFor();
      await page.route(/api\/v2\/(?:approvals\?|changes)/u, (route) => route.abort());
      const [approval] = (await pending()) as { approvalId: string }[];
      await page.context().setOffline(true);
      await suite.server.call('POST', `/api/v2/approvals/${approval!.approvalId}`, 'deny');
      await page.context().setOffline(false);
      await page.getByRole('button', { name: 'Approve' }).click();
      await page.getByRole('status').filter({ hasText: 'Another user or page has decided this call.' }).waitFor();
      await page.unroute(/api\/v2\/(?:approvals\?|changes)/u);
      await page.getByText('It has ended.').waitFor();
      expect(problems.filter((problem) => !problem.includes('ERR_'))).toEqual([]);
    });

    it('says that a conversation was deleted, and takes no more prompts in it', async () => {
      const { page, threadId, problems } = await suite.watch('hello');
      await page.getByText('Hello to you.').waitFor();
      await suite.server.call('DELETE', `/api/v2/threads/${threadId}`);
      await page.getByText('This conversation was deleted.').waitFor();
      await expect.poll(() => page.getByLabel('Prompt').count()).toBe(0);
      await page.getByRole('link', { name: 'Start a new conversation' }).click();
      await page.getByRole('heading', { name: 'What should be done?' }).waitFor();
      expect(problems).toEqual([]);
    });

    it('says that a conversation was deleted before its list had it', async () => {
      const { page } = await suite.open();
      let release = () => {};
      const isDeleted = new Promise<void>((resolve) => (release = resolve));
      await page.route(/api\/v2\/threads\?/u, async (route) => {
        await isDeleted;
        await route.continue();
      });
      const { threadId } = await suite.server.play('hello');
      await page.evaluate((path) => {
        history.pushState(null, '', path);
        dispatchEvent(new PopStateEvent('popstate'));
      }, `/threads/${threadId}`);
      await page.getByText('Hello to you.').waitFor();
      await suite.server.call('DELETE', `/api/v2/threads/${threadId}`);
      release();
      await page.getByText('This conversation was deleted.').waitFor();
    });

    it('shows the rest of a conversation with a message that it cannot show', async () => {
      const { threadId, runId } = await suite.server.play('hello');
      await suite.server.follow(runId);
      const { page } = await suite.open();
      await page.route(/\/api\/v2\/stream\//u, async (route) => {
        const response = await route.fetch();
        const body = (await response.text()).replaceAll('"content":"Hello to you."', '"content":{"no":"text"}');
        await route.fulfill({ response, body });
      });
      await page.goto(`${suite.server.url}/threads/${threadId}`);
      await page.getByRole('alert').filter({ hasText: 'This part cannot be shown' }).waitFor();
      await page.locator('.bubble').getByText('hello').waitFor();
      await page.getByLabel('Prompt').waitFor();
    });

    it('asks for another token where one cannot be read', async () => {
      const { page, problems } = await suite.open({}, { url: suite.server.url, token: '%E0%A4%A' });
      await page.getByLabel('Token').waitFor();
      expect(problems).toEqual([]);
    });

    it('notifies of a call that waits while the page is hidden, and lives on where the browser refuses', async () => {
      const { page, problems } = await suite.open();
      await page.evaluate(() => {
        localStorage.setItem('toolscript-notifications', 'on');
        const titles: string[] = [];
        class Notified extends EventTarget {
          static readonly permission = 'granted';
          constructor(title: string) {
            super();
            titles.push(title);
            if (titles.length > 1) throw new TypeError('Illegal constructor');
          }
        }
        Object.assign(window, { Notification: Notified, titles });
        Object.defineProperty(document, 'hidden', { get: () => true });
      });
      const titles = () => page.evaluate(() => (window as unknown as { titles: string[] }).titles);
      for (const count of [1, 2]) {
        await suite.server.play('waits');
        await page.waitForFunction((n) => (window as unknown as { titles: string[] }).titles.length === n, count);
      }
      expect(await titles()).toEqual(['publish waits for you', 'publish waits for you']);
      await page.getByRole('heading', { name: 'What should be done?' }).waitFor();
      expect(problems).toEqual([]);
      for (const { approvalId } of (await pending()) as { approvalId: string }[])
        await suite.server.call('POST', `/api/v2/approvals/${approvalId}`, 'deny');
    });

    it('keeps a decision that the server could not take, and sends it when the server is back', async () => {
      const { page } = await suite.watch('waits');
      await page.locator('.approval').waitFor();
      await pressOnCard(page, 'd');
      await page.keyboard.type('not now');
      await suite.stopServer();
      await page.getByRole('button', { name: 'Deny', exact: true }).click();
      await page.locator('.approval').getByRole('alert').filter({ hasText: 'The server cannot be reached.' }).waitFor();
      await suite.startServer();
      await expect
        .poll(() => page.getByRole('textbox', { name: 'Reason (the model will see it)' }).inputValue())
        .toBe('not now');
      await page.getByRole('button', { name: 'Deny', exact: true }).click();
      await page.getByText('It has ended.').waitFor();
      await expect.poll(() => page.getByRole('alert').count()).toBe(0);
    });
  },
  () => ({ drainMs: 0 }),
);

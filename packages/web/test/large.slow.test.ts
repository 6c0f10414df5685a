import { expect, it } from 'vitest';
import { describePage } from './support/describe-page.js';

const MEGABYTE = 'It is a long answer. '.repeat(50_000);

const SCENES = {
  calls: [
    {
      type: 'script',
      code: [
        'const all = [];',
        'for (let part = 0; part < 100; part += 1)',
        '  all.push(...await Promise.all(Array.from({ length: 10 }, (_, index) => tools.echo({ text: `${part}.${index}` }))));',
        'return all;',
      ].join('\n'),
    },
  ],
  long: [{ type: 'text', text: MEGABYTE }],
  private: [{ type: 'text', text: 'a secret of Ada' }],
} as const;

const USERS: Readonly<Record<string, string>> = { 'token-of-ada-lovelace': 'ada', 'token-of-bob-the-builder': 'bob' };

describePage(
  'the page with much to show',
  SCENES,
  (suite) => {
    it('shows a run of 1000 calls, and all of them on demand', async () => {
      const { runId, threadId } = await suite.server.play('calls');
      await suite.server.follow(runId);
      const { page, problems } = await suite.open();
      await page.goto(`${suite.server.url}/threads/${threadId}`);
      await page.getByText('It has ended.').waitFor();
      await page.getByRole('radio', { name: 'Calls 1000' }).waitFor();
      await page.getByRole('button', { name: '960 more calls' }).click();
      await expect.poll(() => page.locator('.waterfall-row').count()).toBe(440);
      await expect.poll(() => page.locator('.line-note').textContent()).toContain('echo ×1000');
      expect(problems).toEqual([]);
    });

    it('shows an answer of a megabyte', async () => {
      const { runId, threadId } = await suite.server.play('long');
      await suite.server.follow(runId);
      const { page, problems } = await suite.open();
      await page.goto(`${suite.server.url}/threads/${threadId}`);
      const isWhole = (length: number) => (document.querySelector('.markdown')?.textContent.length ?? 0) >= length;
      await page.waitForFunction(isWhole, MEGABYTE.replaceAll(/\s+/gu, '').length);
      expect(problems).toEqual([]);
    });

    it('lists the first of 500 conversations, and more on demand', async () => {
      for (let index = 0; index < 500; index += 1)
        await suite.server.stores.threads.create({ principal: 'local', title: `conversation ${index}` });
      const { page } = await suite.open();
      await page.waitForFunction(() => document.querySelectorAll('.thread-row').length === 100);
      await page.getByRole('button', { name: 'Show earlier conversations' }).click();
      await page.waitForFunction(() => document.querySelectorAll('.thread-row').length === 200);
      await page.getByLabel('Search the conversations').fill('conversation 499');
      await page.waitForFunction(() => document.querySelectorAll('.thread-row').length === 1);
    });

    it('shows users nothing of each other', async () => {
      const [ada, bob] = Object.keys(USERS) as [string, string];
      const first = await suite.open({}, { url: suite.server.url, token: ada });
      await first.page.getByLabel('Agent').selectOption('scenes');
      await first.page.getByLabel('Prompt').fill('private');
      await first.page.keyboard.press('Enter');
      await first.page.getByText('a secret of Ada').waitFor();
      const second = await suite.open({}, { url: suite.server.url, token: bob });
      await second.page.getByText('No conversations yet.').waitFor();
      await second.page.goto(first.page.url());
      await second.page.getByRole('alert').filter({ hasText: 'You have no thread' }).waitFor();
      await expect.poll(() => second.page.getByText('a secret of Ada').count()).toBe(0);
    });

    it('asks for a token where it has none, and where it is not valid', async () => {
      const { page } = await suite.open({}, { url: suite.server.url, token: 'not-a-valid-token' });
      await page.getByRole('alert').filter({ hasText: 'The token is unknown or expired.' }).waitFor();
      await page.getByLabel('Token').fill(`${suite.server.url}/#token=${suite.server.token}`);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByRole('heading', { name: 'What should be done?' }).waitFor();
    });
  },
  () => ({
    auth: {
      token: 'test-token-of-the-server',
      authenticate: (token) =>
        USERS[token] === undefined ? undefined : { principal: USERS[token], scopes: ['read', 'run', 'approve'] },
    },
  }),
);

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KeyFolder, type RememberedRule } from '@toolscript/server/access';
import { expect, it } from 'vitest';
import { describePage } from './support/describe-page.js';
import { TOKEN } from '../../server/test/support/test-server.js';

const rules: RememberedRule[] = [{ ruleId: 'r1', covers: 'exec: npm test', rememberedAt: 5 }];

const providerKeys: string[] = [];

const SCENES = {
  hello: [{ type: 'text', text: 'Hello to you.' }],
  waits: [{ type: 'script', code: "await tools.publish({ text: 'x' });" }],
  image: [{ type: 'script', code: "return await tools.snapshot({ path: 'pixel.png' });" }],
  changed: [{ type: 'script', code: "return await tools.snapshot({ path: 'changed.png' });" }],
} as const;

describePage(
  'the page for branches and settings',
  SCENES,
  (suite) => {
    it('sends an edited message in a branch, which leads back to the unchanged conversation', async () => {
      const { threadId, runId } = await suite.server.play('hello');
      await suite.server.follow(runId);
      await suite.server.play('hello', { threadId });
      const { page, problems } = await suite.open();
      await page.goto(`${suite.server.url}/threads/${threadId}`);
      await page.getByText('Hello to you.').nth(1).waitFor();
      await page.locator('.user-message').nth(1).hover();
      await page.getByRole('button', { name: 'Edit and send again' }).nth(1).click();
      await page.getByText('The edited message starts a new branch').waitFor();
      await page.getByLabel('Prompt').fill('hello again');
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: 'branch' }).waitFor();
      await page.locator('.bubble').getByText('hello again').waitFor();
      await page.getByText('Hello to you.').first().waitFor();
      await expect.poll(() => page.locator('.bubble').allTextContents()).toEqual(['hello', 'hello again']);
      expect(page.url()).not.toContain(threadId);
      await page.getByRole('link', { name: 'branch' }).click();
      await page.getByText('Hello to you.').nth(1).waitFor();
      await expect.poll(() => page.locator('.bubble').allTextContents()).toEqual(['hello', 'hello']);
      expect(problems).toEqual([]);
    });

    it('lists saved prompts and scripts by owner, shows and deletes them, and puts one into a new conversation', async () => {
      const { documents } = suite.server.stores;
      const { threadId } = await suite.server.play('hello');
      const mine = { kind: 'principal', id: 'local' } as const;
      const input = { type: 'object', properties: { city: { type: 'string' } } };
      await documents.save({ scope: mine, kind: 'prompt', name: 'report', text: 'Report on {{city}}.' });
      const about = { description: 'The largest sale of a city', input };
      await documents.save({ scope: mine, kind: 'snippet', name: 'bestSale', text: 'return input.city', about });
      await documents.save({ scope: { kind: 'thread', id: threadId }, kind: 'prompt', name: 'inside', text: 'x' });
      const { page, problems } = await suite.open();
      await page.goto(`${suite.server.url}/settings/saved`);
      const all = page.getByRole('region', { name: 'Saved prompts and scripts' });
      await all.getByText('report', { exact: true }).click();
      await all.getByText('Report on {{city}}.').waitFor();
      await all.getByRole('button', { name: 'Insert into a new conversation' }).click();
      await expect.poll(() => page.getByLabel('Prompt').inputValue()).toBe('Report on {{city}}.');
      await page.goto(`${suite.server.url}/settings/saved`);
      await all.getByLabel('of').selectOption(threadId);
      await all.getByText('inside', { exact: true }).waitFor();
      await all.getByLabel('of').selectOption('the workspace');
      await all.getByText('Nothing is saved here.').waitFor();
      await all.getByLabel('of').selectOption('you');
      await all.getByLabel('Show').selectOption('Scripts');
      await all.getByText('The largest sale of a city').click();
      await all.getByRole('button', { name: 'Delete bestSale' }).click();
      await page.getByRole('button', { name: 'Cancel' }).click();
      await all.getByRole('button', { name: 'Run in a new conversation…' }).click();
      await expect
        .poll(() => page.getByLabel('Prompt').inputValue())
        .toBe('Run the saved script bestSale with city: …');
      await page.goto(`${suite.server.url}/settings/saved`);
      await all.getByLabel('Show').selectOption('Scripts');
      await all.getByText('The largest sale of a city').click();
      await all.getByRole('button', { name: 'Delete bestSale' }).click();
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await all.getByText('Nothing is saved here.').waitFor();
      expect(await documents.read({ scope: mine, kind: 'snippet', name: 'bestSale' })).toBeUndefined();
      expect(problems).toEqual([]);
    });

    it('connects a provider with a key that the page does not get back, and removes it', async () => {
      const { page, problems } = await suite.open();
      await page.getByRole('link', { name: 'Connect a model' }).click();
      const provider = page.getByRole('article', { name: 'OpenAI' });
      await provider.getByText('not connected').waitFor();
      await provider.getByLabel('Key of OpenAI', { exact: true }).fill('wrong-key');
      await provider.getByRole('button', { name: 'Test and store' }).click();
      await provider.getByRole('alert').getByText('OpenAI rejects the key.').waitFor();
      await provider.getByLabel('Key of OpenAI', { exact: true }).fill('right-key');
      await page.keyboard.press('Enter');
      await provider.getByText('OpenAI accepts the key, and offers 2 models.').waitFor();
      await provider.getByText('gpt-b').waitFor();
      await expect.poll(() => provider.getByLabel('Key of OpenAI', { exact: true }).inputValue()).toBe('');
      await page.reload();
      await provider.getByText('connected', { exact: true }).waitFor();
      await expect.poll(() => page.content()).not.toContain('right-key');
      await provider.getByRole('button', { name: 'Remove the key of OpenAI' }).click();
      await provider.getByText('not connected').waitFor();
      expect(providerKeys).toEqual([]);
      expect(problems).toEqual([]);
    });

    it('attaches a text file, which the prompt shows folded, and refuses other files with a sentence', async () => {
      const { page, problems } = await suite.open();
      await page.getByLabel('Agent').selectOption('scenes');
      const input = page.locator('input[type=file]');
      await input.setInputFiles({ name: 'a.bin', mimeType: 'application/pdfx', buffer: Buffer.from([37, 80, 255, 0]) });
      await page.getByText('a.bin is no text, image').waitFor();
      await input.setInputFiles({
        name: 'notes.md',
        mimeType: 'text/markdown',
        buffer: Buffer.from('# one\n<b>two</b>'),
      });
      await page.getByLabel('Attached files').getByText('notes.md').waitFor();
      await page.getByLabel('Prompt').fill('hello');
      await page.keyboard.press('Enter');
      await page.locator('.bubble summary').getByText('notes.md').click();
      await page.locator('.bubble').getByText('<b>two</b>').waitFor();
      expect(problems).toEqual([]);
    });

    it('attaches a PDF and a recording, which the message names, and takes them back for an edit', async () => {
      const { page, problems } = await suite.open();
      await page.getByLabel('Agent').selectOption('scenes');
      const input = page.locator('input[type=file]');
      const pdf = Buffer.from('%PDF-1.7\n\0');
      const wav = Buffer.from('RIFF\0\0\0\0WAVE');
      await input.setInputFiles([
        { name: 'report.pdf', mimeType: 'application/pdf', buffer: pdf },
        { name: 'call.wav', mimeType: 'audio/x-wav', buffer: wav },
      ]);
      const attached = page.getByLabel('Attached files');
      await attached.getByText('call.wav').waitFor();
      await input.setInputFiles({ name: 'long.pdf', mimeType: 'application/pdf', buffer: Buffer.alloc(5_300_000) });
      await page.getByText('long.pdf is larger than 5 MB').waitFor();
      await page.getByLabel('Prompt').fill('hello');
      await page.keyboard.press('Enter');
      await page.locator('.bubble').getByText('report.pdf').waitFor();
      await page.getByText('Hello to you.').first().waitFor();
      const threadId = page.url().split('/').at(-1)!;
      const { body } = await suite.server.call('GET', `/api/v2/threads/${threadId}`);
      expect((body as { items: unknown[] }).items).toContainEqual(
        expect.objectContaining({
          files: [
            expect.objectContaining({ name: 'report.pdf', media_type: 'application/pdf' }),
            expect.objectContaining({ name: 'call.wav', media_type: 'audio/wav' }),
          ],
        }),
      );
      await page.getByRole('button', { name: 'Edit and send again' }).click();
      await attached.getByText('report.pdf').waitFor();
      await attached.getByText('call.wav').waitFor();
      expect(problems).toEqual([]);
    });

    it('shows an image that a result names by its path, unless its bytes have changed', async () => {
      const image = await suite.server.play('image');
      const changed = await suite.server.play('changed');
      const { page, problems } = await suite.open();
      await page.goto(`${suite.server.url}/threads/${image.threadId}`);
      await page.locator('.result').getByRole('img', { name: 'pixel.png' }).waitFor();
      await page.goto(`${suite.server.url}/threads/${changed.threadId}`);
      await page.locator('.result').getByText('its file has changed since the result').waitFor();
      const sha256 = '0'.repeat(64);
      expect((await suite.server.call('GET', `/api/v2/runs/${image.runId}/images/${sha256}`)).status).toBe(404);
      expect(problems).toEqual([]);
    });

    it('shows by a dot which conversations wait', async () => {
      const { page } = await suite.open();
      await page.locator('.thread-row .dot').first().waitFor();
      const { threadId } = await suite.server.play('waits');
      await page.locator(`.thread-row:has(a[href*="${threadId}"]) .dot[data-status="waiting"]`).waitFor();
      await page.waitForFunction(() => document.title.startsWith('(1)'));
      const { body } = await suite.server.call('GET', '/api/v2/approvals');
      await suite.server.call('POST', `/api/v2/approvals/${body.data[0].approvalId}`, 'deny');
      await page.waitForFunction(() => document.title === 'Toolscript');
    });

    it('makes an API key, shows its token once, and revokes it', async () => {
      const { page, problems } = await suite.open();
      await page.getByRole('link', { name: 'Settings' }).click();
      await page.getByRole('link', { name: 'API keys' }).click();
      await page.getByText('There are no keys.').waitFor();
      await page.getByLabel('Name', { exact: true }).fill('ci robot');
      await page.getByRole('button', { name: 'Make a key' }).click();
      await page.getByText('must be 1 to 100 letters').waitFor();
      await page.getByLabel('Name', { exact: true }).fill('ci');
      await page.getByRole('button', { name: 'Make a key' }).click();
      const token = (await page.getByRole('region', { name: 'The new key' }).textContent())!.trim();
      const asKey = { authorization: `Bearer ${token}` };
      expect((await suite.server.call('GET', '/api/v2/threads', undefined, asKey)).status).toBe(200);
      await page.getByText('may read, run · for ci').waitFor();
      await page.reload();
      await page.getByText('may read, run · for ci').waitFor();
      expect(await page.content()).not.toContain(token);
      await page.getByRole('button', { name: 'Revoke ci' }).click();
      await page.getByRole('button', { name: 'Revoke', exact: true }).click();
      await page.getByText('There are no keys.').waitFor();
      expect((await suite.server.call('GET', '/api/v2/threads', undefined, asKey)).status).toBe(401);
      expect(problems).toEqual([]);
    });

    it('approves for the workspace, with the rule in view', async () => {
      const { threadId, runId } = await suite.server.play('waits');
      const { page, problems } = await suite.open();
      await page.goto(`${suite.server.url}/threads/${threadId}`);
      await page.getByLabel('Applies to').selectOption('workspace');
      await page.getByText('in every conversation of this workspace: every publish').waitFor();
      await page.getByRole('button', { name: 'Approve' }).click();
      await suite.server.follow(runId);
      // The rule is added after the decision, with which the run may end first.
      await expect.poll(() => rules.slice(1)).toEqual([{ ruleId: 'r2', covers: 'every publish', rememberedAt: 6 }]);
      rules.splice(1);
      expect(problems).toEqual([]);
    });

    it('revokes a remembered approval', async () => {
      const { page, problems } = await suite.open();
      await page.goto(`${suite.server.url}/settings/rules`);
      await page.getByRole('button', { name: 'Ask again for exec: npm test' }).click();
      await page.getByText('No calls are always allowed.').waitFor();
      expect(rules).toEqual([]);
      expect(problems).toEqual([]);
    });
  },
  () => ({
    auth: { token: TOKEN, keys: new KeyFolder(mkdtempSync(join(tmpdir(), 'toolscript-keys-'))) },
    models: {
      list: async () => [{ provider: 'openai', name: 'OpenAI', key: providerKeys.length > 0 ? 'stored' : 'none' }],
      connect: async (_provider, key) => {
        if (key !== 'right-key') return 'OpenAI rejects the key.';
        providerKeys.push(key);
        return ['gpt-a', 'gpt-b'];
      },
      remove: async () => providerKeys.splice(0).length > 0,
    },
    rules: {
      list: async () => rules,
      suggest: ({ name }) => ({
        covers: `every ${name}`,
        add: async () => void rules.push({ ruleId: 'r2', covers: `every ${name}`, rememberedAt: 6 }),
      }),
      delete: async () => rules.splice(0, 1).length > 0,
    },
  }),
);

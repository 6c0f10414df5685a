import { expect, it } from 'vitest';
import { describePage } from './support/describe-page.js';
import { pageAgent, type Scenes } from './support/page-agent.js';

const SCENES: Scenes = {
  begin: [{ type: 'script', code: 'const rows = [{ city: "Oslo" }];\nlet hidden = "cana" + "ry-7";' }],
  add: [{ type: 'script', code: 'function cities() { return rows.map((row) => row.city) }\nhidden = "";' }],
};

describePage(
  'what the next script can use',
  SCENES,
  (suite) => {
    it('is listed with types and without values, and changes with the conversation', async () => {
      const { page, threadId, runId, problems } = await suite.watch('begin');
      await suite.server.follow(runId);
      await page.getByRole('button', { name: 'In scope' }).click();
      const dialog = page.getByRole('dialog', { name: 'In scope for the next script' });
      await dialog.getByText('{ city: string; }[]').waitFor();
      await dialog.getByText('hidden', { exact: true }).waitFor();
      expect(await page.content()).not.toContain('canary-7');
      await suite.server.play('add', { threadId });
      await dialog.getByText('() => string[]').waitFor();
      await expect.poll(() => dialog.locator('dt').allTextContents()).toEqual(['rows', 'hidden', 'cities']);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      expect(problems).toEqual([]);
    });
  },
  () => ({
    agents: (parts) => [pageAgent({ ...parts, scripts: 'one-program', typecheck: 'error' }, SCENES)],
  }),
);

describePage('scripts that share nothing', SCENES, (suite) => {
  it('have no list of variables', async () => {
    const { page, runId } = await suite.watch('begin');
    await suite.server.follow(runId);
    await page.getByText('It has ended.').waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'In scope' }).count()).toBe(0);
  });
});

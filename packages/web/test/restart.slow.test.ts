import { expect, it } from 'vitest';
import { describePage } from './support/describe-page.js';

const SCENES = {
  waits: [
    {
      type: 'script',
      code: "console.log('first'); const { text: said } = await tools.echo({ text: 'second' }); await sleep(20_000); console.log(said); return 7;",
    },
  ],
} as const;

describePage(
  'a restart of the server',
  SCENES,
  (suite) => {
    it('in the middle of a script: the page connects again, and shows each line once', async () => {
      const { page } = await suite.watch('waits');
      await page.locator('.line-note').getByText('echo').waitFor();
      await suite.stopServer();
      await page.getByText('Reconnecting').waitFor();
      await suite.startServer();
      await page.getByText('It has ended.').waitFor();
      const lines = await page.locator('.console-line').allTextContents();
      expect(lines.map((line) => line.replace(/^\+[\d.]+ (?:ms|s|min)/u, ''))).toEqual(['first', 'second']);
      await expect.poll(() => page.locator('.waterfall-row').count()).toBe(1);
    });
  },
  () => ({ drainMs: 0 }),
);

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBrowser, openPage, skipsBrowser } from './support/browser.js';
import { openPageServer, type PageServer } from './support/page-server.js';

const SCENES = {
  waits: [
    {
      type: 'script',
      code: "console.log('first'); const { text: said } = await tools.echo({ text: 'second' }); await sleep(2500); console.log(said); return 7;",
    },
  ],
} as const;

describe.skipIf(skipsBrowser)('a restart of the server (skipped where there is no Chromium)', () => {
  let browser: Browser;
  let server: PageServer | undefined;

  beforeAll(async () => {
    browser = await openBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  it('in the middle of a script: the page connects again, and shows each line once', async () => {
    const scenes = () => structuredClone(SCENES) as never;
    const first = await openPageServer(scenes(), { drainMs: 0 });
    const { threadId } = await first.play('waits');
    const { page } = await openPage(browser, first);
    await page.goto(`${first.url}/threads/${threadId}`);
    await page.locator('.line-note').getByText('echo').waitFor();
    await first.close({ keepsData: true });
    await page.getByText('Connects again').waitFor();
    server = await openPageServer(scenes(), { folder: first.folder, port: Number(new URL(first.url).port) });
    await page.getByText('It has ended.').waitFor();
    const lines = await page.locator('.console-line').allTextContents();
    expect(lines.map((line) => line.replace(/^\+\d+/u, ''))).toEqual(['first', 'second']);
    expect(await page.locator('.waterfall-row').count()).toBe(1);
    await page.context().close();
  });
});

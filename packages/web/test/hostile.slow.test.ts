import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describePage } from './support/describe-page.js';
import { HOSTILE_TEXTS } from './support/hostile-texts.js';

const corpus = JSON.stringify(HOSTILE_TEXTS);

/** Every place that a model, a tool or a script can write to. */
const SCENES = {
  answer: [
    { type: 'reasoning', text: HOSTILE_TEXTS.join('\n\n') },
    { type: 'text', text: HOSTILE_TEXTS.join('\n\n') },
  ],
  script: [
    {
      type: 'script',
      code: [
        `const texts = ${corpus};`,
        'for (const each of texts) console.log(each);',
        'const echoed = await Promise.all(texts.map((each) => tools.echo({ text: each })));',
        'text(texts.join("\\n"));',
        'return { message: texts[0], rows: echoed.map(({ text: cell }) => ({ [cell]: cell })).slice(0, 8), echoed };',
      ].join('\n'),
    },
  ],
  fails: [{ type: 'script', code: `throw new Error(${corpus}.join('\\n'));` }],
  asks: [
    {
      type: 'script',
      code: `return await tools.publish({ text: '<img src=x onerror=hit()>', approvalContext: ${corpus}.join('\\n') });`,
    },
  ],
  bidi: [
    {
      type: 'script',
      code: [
        '// \u202e reversed \u2066 isolated',
        "const found = await tools.echo({ text: ['pay\u202e', 'load-number-7'].join('') });",
        'console.log(found.text);',
        "return await tools.publish({ text: found.text, approvalContext: 'a\u202eb\u200bc' }); // \u202e",
      ].join('\n'),
    },
  ],
} as const;

describePage('hostile texts', SCENES, (suite) => {
  /** Opens every view of a conversation. */
  async function lookAround(page: Page): Promise<void> {
    for (const name of [/^Calls/u, /^Plan/u, 'Model’s view', 'Replay', 'Source'])
      for (const tab of await page.getByRole('radio', { name }).all()) await tab.click();
    for (const name of ['Table', 'JSON', 'Tree'])
      for (const tab of await page.getByRole('radio', { name, exact: true }).all()) await tab.click();
    const row = page.locator('.waterfall-row').first();
    if ((await row.count()) > 0) await row.click();
    for (const summary of await page.locator('.reasoning > summary').all()) await summary.click();
  }

  it('are more than a hundred', () => {
    expect(HOSTILE_TEXTS.length).toBeGreaterThan(100);
  });

  it.each(Object.keys(SCENES).filter((name) => name !== 'bidi'))('run nothing and load nothing: %s', async (scene) => {
    const { threadId } = await suite.server.play(scene);
    await suite.server.call('PATCH', `/api/v2/threads/${threadId}`, { title: HOSTILE_TEXTS.join(' ').slice(0, 990) });
    const { page, problems, foreign } = await suite.open();
    await page.goto(`${suite.server.url}/threads/${threadId}`);
    await page.locator('.run [aria-live] > .markdown, .script-card .result, .approval').first().waitFor();
    await lookAround(page);
    await page.waitForTimeout(300);
    const found = await page.evaluate(() => ({
      hits: (window as { hits?: number }).hits ?? 0,
      elements: document.querySelectorAll('iframe, object, embed, form[action], #hostile, .run img:not([src^="data:"])')
        .length,
      links: [...document.querySelectorAll('a')].filter(({ href }) => !/^https?:/u.test(href)).length,
      targets: [...document.querySelectorAll('.markdown a')].filter(
        (link) => !/noopener/u.test((link as HTMLAnchorElement).rel),
      ).length,
      text: document.body.textContent.includes('onerror='),
    }));
    expect(found).toEqual({ hits: 0, elements: 0, links: 0, targets: 0, text: true });
    expect(foreign).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('cannot reorder or hide a part of a call or of its script', async () => {
    const { page, problems } = await suite.watch('bidi');
    await page.getByRole('region', { name: 'Earlier results in the arguments' }).waitFor();
    await page.getByText('The exact arguments').click();
    await page.locator('.waterfall-row').first().click();
    for (const place of ['.approval', '.source', '.waterfall', '.console', '.inspector']) {
      const text = (await page.locator(place).textContent()) ?? '';
      expect(text, place).toContain(String.raw`\u{202e}`);
      expect(text, place).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b]/u);
    }
    expect(problems).toEqual([]);
  });

  it('are noticed where the page’s defences do not apply', async () => {
    const context = await suite.browser.newContext();
    const page = await context.newPage();
    const foreign: string[] = [];
    page.on('request', (request) => foreign.push(request.url()));
    // These two would replace the document.
    const staying = HOSTILE_TEXTS.filter((text) => !/<meta|<base/u.test(text));
    for (const text of staying) await page.setContent(text);
    await page.setContent(staying.filter((text) => /^<(?:img|svg|script>)/u.test(text)).join('\n'));
    await page.waitForTimeout(300);
    await expect.poll(() => page.evaluate(() => (window as { hits?: number }).hits ?? 0)).toBeGreaterThan(3);
    expect(foreign.filter((url) => url.startsWith('http://127.0.0.1:9'))).not.toEqual([]);
    await context.close();
  });
});

import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { focusCard, pressOnCard } from './support/approval-cards.js';
import { describePage } from './support/describe-page.js';

const SCENES = {
  asks: [
    { type: 'reasoning', text: 'I think about it.' },
    {
      type: 'text',
      text: 'A list:\n\n- one\n- `two`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[a link](https://example.com)\n',
    },
    {
      type: 'script',
      code: [
        "console.log('a line');",
        "console.error('a fault');",
        "const rows = await Promise.all(['a', 'b'].map((text) => tools.echo({ text })));",
        "const { text } = await tools.echo({ text: ['news', 'of', 'May'].join('-') });",
        "await tools.publish({ text, approvalContext: 'because' });",
        'return { message: "done", rows };',
      ].join('\n'),
    },
  ],
  fails: [{ type: 'script', code: "await tools.echo({ text: 'a' });\nthrow new Error('the file is gone');" }],
} as const;

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** The findings of axe: the rule, and the first element. */
async function violations(page: Page): Promise<string[]> {
  // The page's policy allows no scripts except its own, but the debugger may run one.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    const { axe: here } = window as unknown as { axe: { run(options: object): Promise<{ violations: Violation[] }> } };
    return (await here.run({ resultTypes: ['violations'] })).violations;
  });
  return found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 160)} ${nodes[0]?.failureSummary ?? ''}`);
}

/** Each colour scheme and each width; all pairs of them in CI. */
const LOOKS = [
  ['light', 1440],
  ['dark', 390],
  ...(process.env['CI'] === undefined
    ? []
    : ([
        ['dark', 1440],
        ['light', 390],
      ] as const)),
] as const;

describePage('access for everyone', SCENES, (suite) => {
  it.each(LOOKS)('axe finds nothing, %s at %i px, and nothing is wider than the screen', async (colorScheme, width) => {
    const fails = await suite.server.play('fails');
    const asks = await suite.server.play('asks');
    const options = { colorScheme, viewport: { width, height: 900 }, reducedMotion: 'reduce' as const };
    const { page, problems } = await suite.open(options);
    const found: Record<string, string[]> = {};
    const check = async (name: string) => {
      found[name] = await violations(page);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (overflow > 0) found[name].push(`${overflow} px too wide`);
    };
    await page.getByRole('heading', { name: 'What should be done?' }).waitFor();
    await check('new');
    await page.goto(`${suite.server.url}/threads/${fails.threadId}`);
    await page.locator('.result').waitFor();
    await page.locator('.waterfall-row').click();
    await check('failure and details');
    await page.goto(`${suite.server.url}/threads/${asks.threadId}`);
    await page.locator('.approval-origins').waitFor();
    await check('approval');
    await pressOnCard(page, 'e');
    await page.getByRole('textbox', { name: 'Arguments as JSON' }).waitFor();
    await check('edit');
    await page.getByRole('button', { name: 'Back' }).click();
    await pressOnCard(page, 'a');
    await page.locator('.result').waitFor();
    await check('result');
    for (const name of [/^Calls/u, /^Plan/u, 'Model’s view', 'Replay']) {
      await page.getByRole('radio', { name }).click();
      await check(String(name));
    }
    for (const section of ['agents', 'tools', 'keys', 'rules', 'audit', 'access']) {
      await page.goto(`${suite.server.url}/settings/${section}`);
      await page
        .getByRole('region', { name: /Agents|Tools|API keys|Remembered approvals|Audit log|This browser/u })
        .waitFor();
      await check(section);
    }
    expect(Object.fromEntries(Object.entries(found).filter(([, list]) => list.length > 0))).toEqual({});
    expect(Object.keys(found).length).toBeGreaterThan(10);
    expect(problems).toEqual([]);
  });

  it('everything can be reached with the keyboard', async () => {
    const { page } = await suite.open();
    await page.getByRole('heading', { name: 'What should be done?' }).waitFor();
    await page.getByLabel('Prompt').fill('asks');
    await page.getByLabel('Agent').focus();
    await page.keyboard.type('scen');
    await page.getByLabel('Prompt').focus();
    await page.keyboard.press('Enter');
    await page.locator('.approval').waitFor();
    // Shift-Tab leads from the prompt to the card, button by button.
    for (const name of ['Approve', 'Edit…', 'Deny…']) {
      await page.keyboard.press('Shift+Tab');
      await page.locator('.approval :focus').and(page.getByRole('button', { name })).waitFor();
    }
    for (let step = 0; step < 10 && (await page.locator('.approval:focus').count()) === 0; step += 1)
      await page.keyboard.press('Shift+Tab');
    await focusCard(page.locator('.approval:focus'));
    await page.keyboard.press('d');
    await page.getByRole('textbox', { name: 'Reason (the model will see it)' }).waitFor();
    await page.locator('.approval .danger:not([aria-disabled])').waitFor();
    await page.keyboard.press('Control+Enter');
    await page.getByText('It has ended.').waitFor();
  });
});

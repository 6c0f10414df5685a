import { filePlace } from '@toolscript/core/internal';
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
  lists: [{ type: 'text', text: '- [ ] open\n- [x] done\n\n```go\nfunc main() {} // note\n```\n' }],
  several: [
    {
      type: 'script',
      code: "return await Promise.all(['a', 'b'].map((path) => tools.rewrite({ path, content: path })));",
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
    return (await here.run({ resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } })).violations;
  });
  return found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 160)} ${nodes[0]?.failureSummary ?? ''}`);
}

/** Each colour scheme and each width; all pairs of them in CI. */
const LOOKS = [
  ['light', 1440],
  ['dark', 390],
  ['forced', 1440],
  ...(process.env['CI'] === undefined
    ? []
    : ([
        ['dark', 1440],
        ['light', 390],
        ['forced', 390],
      ] as const)),
] as const;

describePage('access for everyone', SCENES, (suite) => {
  it.each(LOOKS)('axe finds nothing, %s at %i px, and nothing is wider than the screen', async (look, width) => {
    const fails = await suite.server.play('fails');
    const asks = await suite.server.play('asks');
    const lists = await suite.server.play('lists');
    const several = await suite.server.play('several');
    const file = filePlace(lists.threadId, 'notes/plan.md');
    await suite.server.stores.documents.save({ ...file, text: 'a plan', about: { title: 'The plan' } });
    await suite.server.stores.documents.save({
      scope: { kind: 'principal', id: 'local' },
      kind: 'prompt',
      name: 'report',
      text: 'Report on {{city}}.',
    });
    const colors = look === 'forced' ? { forcedColors: 'active' as const } : { colorScheme: look };
    const options = { ...colors, viewport: { width, height: 900 }, reducedMotion: 'reduce' as const };
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
    await page.goto(`${suite.server.url}/threads/${lists.threadId}#turn=${lists.runId}`);
    await page.locator('[aria-current=location]').getByText('func').waitFor();
    await check('answer, linked');
    await page.locator('.files-button').click();
    await page.getByRole('complementary', { name: 'Files of the conversation' }).getByText('plan.md').waitFor();
    await check('files');
    await page.goto(`${suite.server.url}/threads/${several.threadId}`);
    await page.locator('.approval').waitFor();
    await check('several calls');
    await page.keyboard.press('Control+k');
    await page.getByRole('list', { name: 'Conversations found' }).getByRole('listitem').first().waitFor();
    await check('finder');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await check('keys of the page');
    for (const section of ['agents', 'models', 'tools', 'keys', 'saved', 'rules', 'audit', 'access']) {
      await page.goto(`${suite.server.url}/settings/${section}`);
      await page
        .getByRole('region', {
          name: /Agents|Models|Tools|API keys|Saved prompts|Remembered approvals|Audit log|This browser/u,
        })
        .waitFor();
      await check(section);
    }
    expect(Object.fromEntries(Object.entries(found).filter(([, list]) => list.length > 0))).toEqual({});
    expect(Object.keys(found).length).toBeGreaterThan(16);
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
    await page.locator('.run[aria-busy=false]').waitFor();
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
    await page.getByText('It has ended.', { exact: true }).waitFor();
    await page.locator('[aria-busy=false] [aria-live=polite]').getByText('It has ended.').waitFor();
  });
});

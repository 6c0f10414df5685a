import { expect, it } from 'vitest';
import { pressOnCard } from './support/approval-cards.js';
import { describePage } from './support/describe-page.js';

const CODE = Array.from({ length: 51 }, (_, index) => (index % 7 === 0 ? '' : `const value${index} = ${index};`)).join(
  '\n',
);

const SCENES = {
  code: [{ type: 'text', text: `\`\`\`ts\n${CODE}\n\`\`\`\n` }],
  publish: [
    { type: 'text', text: 'I publish it.\n' },
    {
      type: 'script',
      code: [
        "const said = await tools.echo({ text: 'hello' });",
        "const done = await tools.publish({ text: said.text, approvalContext: 'you asked for it' });",
        'return done;',
      ].join('\n'),
    },
  ],
  both: [
    {
      type: 'script',
      code: "return await Promise.all(['one', 'two'].map((text) => tools.publish({ text })));",
    },
  ],
  flows: [
    {
      type: 'script',
      code: "const found = await tools.echo({ text: ['notes', 'of', 'May'].join('-') });\nawait tools.publish({ text: found.text });",
    },
  ],
  fails: [{ type: 'script', code: "await tools.echo({ text: 'a' });\nthrow new Error('the file is gone');" }],
  waits: [{ type: 'script', code: "console.log('first'); await sleep(1500); console.log('second'); return 7;" }],
} as const;

describePage('the page in a browser', SCENES, (suite) => {
  it('takes the token out of the address, and starts the demo with one button', async () => {
    const { page, problems, foreign } = await suite.open();
    await page.getByRole('button', { name: 'Start the demo' }).click();
    expect(page.url()).not.toContain('token');
    await page.getByRole('article', { name: 'signGuestBook waits for you' }).waitFor();
    await expect.poll(() => page.title()).toBe('(1) waiting for you · Toolscript');
    await pressOnCard(page, 'a');
    await page.getByText('The script has ended, after 1 call.').waitFor();
    await page.getByRole('status').filter({ hasText: 'Done' }).waitFor();
    await page.reload();
    await page.getByText('The script has ended, after 1 call.').waitFor();
    await expect.poll(() => page.locator('.source-line').count()).toBeGreaterThan(2);
    await page.waitForFunction(() => document.title === 'Toolscript');
    expect({ problems, foreign }).toEqual({ problems: [], foreign: [] });
  });

  it('edits an approval in one tab while another tab watches, and refuses arguments that do not fit', async () => {
    const { threadId } = await suite.server.play('publish');
    const first = await suite.open();
    const second = await suite.open();
    for (const { page } of [first, second]) {
      await page.goto(`${suite.server.url}/threads/${threadId}`);
      await page.getByRole('article', { name: 'publish waits for you' }).waitFor();
    }
    const { page } = first;
    await page.getByText('The script says: you asked for it').waitFor();
    await pressOnCard(page, 'e');
    const editor = page.getByRole('textbox', { name: 'Arguments as JSON' });
    await editor.waitFor();
    const approve = page.getByRole('button', { name: 'Approve the edited call' });
    const write = async (text: string) => {
      await page.keyboard.press('Control+A');
      await page.keyboard.insertText(text);
    };
    await editor.focus();
    await write('{ "text": 3 }');
    await page.getByText('text must be text').waitFor();
    await expect.poll(() => approve.isDisabled()).toBe(true);
    await write('{ "text": "good morning" }');
    await approve.click();
    for (const tab of [first.page, second.page]) {
      await tab.getByText('It has ended.').waitFor();
      await tab.locator('.result').getByText('good morning').first().waitFor();
    }
    expect([...first.problems, ...second.problems]).toEqual([]);
  });

  it('gives the exact text of long code to a selection and to the search of the browser', async () => {
    const { page } = await suite.watch('code');
    await page.locator('.code .tok-keyword').first().waitFor();
    await page.locator('.code').evaluate((code) => getSelection()?.selectAllChildren(code));
    await expect.poll(() => page.evaluate(() => getSelection()?.toString())).toBe(CODE);
    await expect.poll(() => page.locator('.code').textContent()).toBe(CODE);
  });

  it('says which earlier results are in the arguments, and leads to their calls', async () => {
    const { page, problems } = await suite.watch('flows');
    const origins = page.getByRole('region', { name: 'Earlier results in the arguments' });
    await origins.getByRole('listitem').filter({ hasText: 'text — from echo (call 1, line 1)' }).waitFor();
    await expect.poll(() => origins.getByRole('listitem').count()).toBe(1);
    await origins.getByRole('button', { name: 'echo (call 1, line 1)' }).click();
    await page.getByRole('complementary', { name: 'Details of the call' }).getByText('notes-of-May').first().waitFor();
    expect(problems).toEqual([]);
  });

  it('denies with a note that the model reads', async () => {
    const { page, problems } = await suite.watch('publish');
    await page.getByRole('article', { name: 'publish waits for you' }).waitFor();
    await pressOnCard(page, 'd');
    await page.keyboard.type('not today');
    await page.getByRole('button', { name: 'Deny', exact: true }).click();
    await page.getByText('It has ended.').waitFor();
    await page.getByRole('radio', { name: 'Model’s view' }).click();
    await expect
      .poll(() => page.getByRole('region', { name: 'The model’s view of the result' }).textContent())
      .toContain('not today');
    expect(problems).toEqual([]);
  });

  it('approves several calls together, except the ones that are not ticked', async () => {
    const { page } = await suite.watch('both');
    const batch = page.getByRole('group', { name: '2 calls wait for you' });
    await batch.getByRole('checkbox').nth(1).uncheck();
    await batch.getByRole('button', { name: 'Approve 1 of 2' }).click();
    await batch.waitFor({ state: 'detached' });
    await expect.poll(() => page.locator('.approval').count()).toBe(1);
    await page.locator('.approval').getByText('text: two').waitFor();
    await pressOnCard(page, 'a');
    await page.getByText('It has ended.').waitFor();
  });

  it('selects a call in the waterfall, the source and the details at once', async () => {
    const { page } = await suite.watch('fails');
    await page.locator('.waterfall-row').click();
    await page.getByRole('complementary', { name: 'Details of the call' }).getByText('line 1').waitFor();
    await expect.poll(() => page.locator('.source-line[data-selected]').count()).toBe(1);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('.inspector').count()).toBe(0);
    await expect.poll(() => page.locator('.result').textContent()).toContain('the file is gone');
    await expect.poll(() => page.locator('.source-line[data-failed] .line-number').textContent()).toBe('2');
  });

  it('catches up after a lost connection, without a gap', async () => {
    const { page } = await suite.open();
    const { threadId } = await suite.server.play('waits');
    await page.goto(`${suite.server.url}/threads/${threadId}`);
    await page.getByRole('region', { name: 'Console of the script' }).getByText('first').waitFor();
    await page.context().setOffline(true);
    await new Promise((resolve) => setTimeout(resolve, 1800));
    await page.context().setOffline(false);
    await page.getByText('It has ended.').waitFor();
    await expect
      .poll(() => page.locator('.console-line').allTextContents())
      .toEqual([expect.stringMatching(/first$/u), expect.stringMatching(/second$/u)]);
  });

  it('replays a script that has ended', async () => {
    const { page, problems } = await suite.watch('publish');
    await page.getByRole('article', { name: 'publish waits for you' }).waitFor();
    await pressOnCard(page, 'a');
    await page.getByText('It has ended.').waitFor();
    await page.getByRole('radio', { name: 'Replay' }).click();
    const slider = page.getByRole('slider', { name: 'Position in the replay' });
    await slider.focus();
    await page.keyboard.press('Home');
    await page.locator('.waterfall-row').first().waitFor({ state: 'detached' });
    await expect.poll(() => page.locator('.script-card .result').count()).toBe(0);
    await page.keyboard.press('End');
    await page.locator('.script-card .result').waitFor();
    await expect.poll(() => page.locator('.waterfall-row').count()).toBe(2);
    expect(problems).toEqual([]);
  });

  it('renames, finds, exports and deletes a conversation', async () => {
    await suite.server.play('fails');
    const { page, problems } = await suite.open();
    await page.getByRole('button', { name: 'Actions for fails' }).first().click();
    await page.getByRole('menuitem', { name: 'Rename…' }).click();
    await page.getByLabel('Title').fill('A zebra');
    await page.getByRole('button', { name: 'Rename', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByLabel('Search the conversations').fill('zebra');
    await page.waitForFunction(() => document.querySelectorAll('.thread-row').length === 1);
    await page.getByRole('button', { name: 'Actions for A zebra' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'Export as Markdown' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('A zebra.md');
    await page.getByRole('button', { name: 'Actions for A zebra' }).click();
    await page.getByRole('menuitem', { name: 'Delete…' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('Nothing found.').waitFor();
    expect(problems).toEqual([]);
  });

  it('shows a prompt that another tab sends', async () => {
    const { page, threadId } = await suite.watch('fails');
    await page.getByText('It has ended.').waitFor();
    await suite.server.play('waits', { threadId });
    await page.getByText('It has ended.').nth(1).waitFor();
  });

  it('sends an image with a prompt', async () => {
    const { page, problems } = await suite.open();
    await page.getByLabel('Agent').selectOption('scenes');
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const files = { name: 'pixel.png', mimeType: 'image/png', buffer: Buffer.from(pixel, 'base64') };
    await page.locator('input[type=file]').setInputFiles(files);
    await page.getByRole('img', { name: 'pixel.png' }).waitFor();
    await page.getByLabel('Prompt').fill('fails');
    await page.keyboard.press('Enter');
    await page.locator('.bubble').getByText('1 image').waitFor();
    await page.getByText('It has ended.').waitFor();
    expect(problems).toEqual([]);
  });
});

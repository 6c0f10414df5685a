import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startScriptedServer, type ScriptedServer } from '@toolscript/core/providers';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serve, type Served } from '../../cli/test/serve/support/served.js';
import { Place } from '../../cli/test/support/place.js';
import { openBrowser, openPage, skipsBrowser } from './support/browser.js';

const CODE = `await tools.writeFile({ path: 'a.txt', content: 'new' });
await tools.writeFile({ path: 'made/b.txt', content: 'b' });`;

describe.skipIf(skipsBrowser)('undo on the page (skipped where there is no Chromium)', () => {
  const place = new Place();
  const file = (name: string) => join(place.workspace, name);
  let model: ScriptedServer;
  let server: Served;
  let browser: Browser;

  beforeAll(async () => {
    const turns = [
      { parts: [{ type: 'script' as const, code: CODE }] },
      { parts: [{ type: 'text' as const, text: 'Done.' }] },
    ];
    model = await startScriptedServer({
      turns: [...turns, ...turns, ...turns].map((turn) => ({ ...turn, begins_anew: true })),
    });
    const folder = join(place.base, 'config', 'toolscript');
    mkdirSync(join(folder, 'agents'), { recursive: true });
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ rules: [{ tool: 'writeFile', action: 'approve' }] }));
    const provider = { api: 'openai-responses', model: 'any', baseUrl: model.baseUrl };
    writeFileSync(join(folder, 'agents', 'writer.json'), JSON.stringify({ slug: 'writer', provider }));
    server = await serve(['--workspace', place.workspace], { env: place.env });
    browser = await openBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await server?.end();
    await model?.close();
  });

  /** The dialog of the script of a new run, which has changed two files. */
  async function openDialog() {
    writeFileSync(file('a.txt'), 'old');
    rmSync(file('made'), { recursive: true, force: true });
    const { runId, threadId } = await server.api('submit', { prompt: 'write', agentId: 'writer' });
    expect(await server.follow(runId)).toContain('"status":"completed"');
    expect(readFileSync(file('a.txt'), 'utf8')).toBe('new');
    const { page, problems } = await openPage(browser, server);
    await page.goto(`${server.url}/threads/${threadId}`);
    const open = () => page.getByRole('button', { name: 'Undo the changes of this script' }).click();
    await open();
    return { page, problems, open, dialog: page.getByRole('dialog') };
  }

  it('shows the changed lines, undoes them after a confirmation, and can redo them', async () => {
    const { page, problems, open, dialog } = await openDialog();
    await dialog.getByText('a.txt is changed').click();
    await dialog.getByRole('region', { name: 'The changes of a.txt' }).getByText('+old').waitFor();
    await dialog.getByText('made/b.txt is removed').waitFor();
    expect(readFileSync(file('a.txt'), 'utf8')).toBe('new');
    await dialog.getByRole('button', { name: 'Undo 2 files' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('Undone: 2 files').waitFor();
    expect(readFileSync(file('a.txt'), 'utf8')).toBe('old');
    expect(existsSync(file('made'))).toBe(false);
    await open();
    await dialog.getByText('are already undone').waitFor();
    await dialog.getByRole('button', { name: 'Redo…' }).click();
    await dialog.getByRole('button', { name: 'Redo 2 files' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(readFileSync(file('a.txt'), 'utf8')).toBe('new');
    expect(problems).toEqual([]);
  });

  it('is offered at the end of the turn, below the changed lines', async () => {
    const { page, dialog } = await openDialog();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    const changes = page.getByRole('region', { name: 'Changed files' });
    await changes.getByText('2 files changed +2 −1').waitFor();
    await changes.getByRole('button', { name: 'View' }).click();
    const diff = changes.getByRole('region', { name: 'Changes of a.txt' });
    await expect.poll(() => diff.locator('.diff-removed').allTextContents()).toEqual(['-old']);
    await expect.poll(() => diff.locator('.diff-added').allTextContents()).toEqual(['+new']);
    await changes.getByRole('button', { name: 'Undo…' }).click();
    await dialog.getByRole('button', { name: 'Undo 2 files' }).click();
    await changes.getByText('The changes of files are undone').waitFor();
    expect(readFileSync(file('a.txt'), 'utf8')).toBe('old');
  });

  it('lists the files that were changed while the dialog was open, and changes nothing', async () => {
    const { dialog, problems } = await openDialog();
    const confirm = dialog.getByRole('button', { name: /^Undo \d file/u });
    await confirm.waitFor();
    writeFileSync(file('a.txt'), 'mine');
    await confirm.click();
    await dialog.getByRole('list', { name: 'Changed since' }).getByText('a.txt: it was changed since').waitFor();
    await expect.poll(() => confirm.count()).toBe(0);
    expect(readFileSync(file('a.txt'), 'utf8')).toBe('mine');
    expect(existsSync(file('made/b.txt'))).toBe(true);
    expect(problems).toEqual([]);
  });
});

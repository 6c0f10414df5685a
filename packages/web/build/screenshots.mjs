// `npm run screenshots`: pictures of the page's main states for the documentation, from a real server with the demo
// agent. It needs Chromium; CHROMIUM_PATH says where it is.
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const images = join(root, 'docs/images');
const home = mkdtempSync(join(tmpdir(), 'toolscript-screenshots-'));
const workspace = join(home, 'shop');
const WIDE = { width: 1440, height: 1000 };
const NARROW = { width: 390, height: 844 };
const EARLIER = ['Which routes lack a test?', 'List the open points of the shop', 'Sign the release notes, I approve'];

mkdirSync(images, { recursive: true });
cpSync(join(root, 'examples/01-first-answer/project'), workspace, { recursive: true });
const server = spawn(
  process.execPath,
  [join(root, 'packages/cli/bin/toolscript.js'), 'serve', '--port', '0', '--workspace', workspace],
  {
    env: {
      PATH: process.env.PATH,
      HOME: home,
      XDG_DATA_HOME: join(home, 'data'),
      XDG_CONFIG_HOME: join(home, 'config'),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
const [address] = await once(createInterface(server.stdout), 'line');
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
});
try {
  await photograph();
} finally {
  await browser.close();
  server.kill('SIGTERM');
  await once(server, 'exit');
  rmSync(home, { recursive: true, force: true });
}

async function photograph() {
  const [url, token] = address.split('/#token=');
  for (const prompt of EARLIER) await submit(url, token, prompt);
  const page = await open(WIDE, 'light');
  await take(page, 'page-new');
  await page.getByRole('button', { name: 'Start the demo' }).click();
  await page.locator('.source-line').nth(18).waitFor();
  await take(page, 'page-typing');
  await page.locator('.approval').waitFor();
  const thread = page.url();
  const narrow = await open(NARROW, 'light', thread);
  await narrow.locator('.approval .primary:not([aria-disabled])').waitFor();
  await take(narrow, 'page-approval-390');
  await page.locator('.approval').focus();
  await page.locator('.approval [data-keys=ready]').waitFor();
  await take(page, 'page-approval');
  await page.keyboard.press('e');
  await page.getByRole('textbox', { name: 'Arguments as JSON' }).waitFor();
  for (let step = 0; step < 2; step += 1) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('End');
  for (let step = 0; step < 5; step += 1) await page.keyboard.press('Backspace');
  await page.keyboard.type('Ada"');
  await take(page, 'page-edit');
  await page.getByRole('button', { name: 'Approve the edited call' }).click();
  await page.locator('.result').waitFor();
  await page.getByText('The script has ended').waitFor();
  await page.getByRole('status').filter({ hasText: 'signGuestBook' }).waitFor({ state: 'hidden' });
  await take(page, 'page-result');
  await toTop(page);
  await page.locator('.waterfall-row').nth(4).click();
  await take(page, 'page-script');
  const dark = await open(WIDE, 'dark', thread);
  await dark.locator('.result').waitFor();
  await toTop(dark);
  await dark.locator('.waterfall-row').nth(1).click();
  await take(dark, 'page-script-dark');
  await toTop(narrow);
  await narrow.locator('.result').waitFor();
  await take(narrow, 'page-script-390');
  await page.goto(`${url}/settings/tools`);
  await page.getByText('signGuestBook').first().waitFor();
  await page.locator('summary').filter({ hasText: 'signGuestBook' }).click();
  await take(page, 'page-tools');
  await page.goto(`${url}/settings/keys`);
  await page.getByLabel('Name', { exact: true }).fill('ci');
  await page.getByRole('button', { name: 'Make a key' }).click();
  await page.getByText('may read, run').waitFor();
  await page.reload();
  await page.getByText('may read, run').waitFor();
  await take(page, 'page-keys');
  await photographBranch(page, thread);
}

async function photographBranch(page, thread) {
  await page.goto(thread);
  await page.locator('.result').waitFor();
  await page.getByRole('radio', { name: 'Replay' }).click();
  await page.getByLabel('Position in the replay').waitFor();
  await page.getByLabel('Position in the replay').fill('700');
  await toTop(page);
  await take(page, 'page-replay');
  await page.locator('.user-message').first().hover();
  await page.getByRole('button', { name: 'Edit and send again' }).first().click();
  await page.getByLabel('Prompt').fill('Look at the routes again');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'branch' }).waitFor();
  await page.locator('.result').waitFor();
  await toTop(page);
  await take(page, 'page-branch');
}

async function submit(url, token, prompt) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  await fetch(`${url}/api/v2/submit`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ prompt, agentId: 'demo' }),
  });
}

async function open(viewport, colorScheme, place) {
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' });
  await context.addInitScript(() => localStorage.setItem('toolscript-scripts', 'open'));
  const page = await context.newPage();
  await page.goto(address);
  await page.getByRole('heading', { name: 'What should be done?' }).waitFor();
  if (place !== undefined) await page.goto(place);
  return page;
}

async function toTop(page) {
  await page.locator('.scroller').evaluate((element) => element.scrollTo(0, 0));
}

async function take(page, name) {
  await page.evaluate(() => document.fonts.ready);
  await page.waitForTimeout(250);
  await page.screenshot({ path: join(images, `${name}.png`) });
  console.log(`docs/images/${name}.png`);
}

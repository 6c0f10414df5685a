// `npm run screenshots`: pictures of the page's main states for the documentation, from a real server with the demo
// agent. `node packages/web/build/screenshots.mjs FOLDER [WIDTH LOOK]`: twelve states at three widths, light, dark and
// in forced colours, to look at; or one width and look alone. It needs Chromium; CHROMIUM_PATH says where it is.
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const [folder, ...chosen] = process.argv.slice(2);
const images = folder ?? join(root, 'docs/images');
const home = mkdtempSync(join(tmpdir(), 'toolscript-screenshots-'));
const workspace = join(home, 'shop');
const WIDE = { width: 1440, height: 1000 };
const NARROW = { width: 390, height: 844 };
const WIDTHS = [390, 1440, 2560];
const LOOKS = ['light', 'dark', 'forced'];
const TOUR = 'Give me a tour, and approve the guest book.';
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
  await (folder === undefined ? photograph() : photographStates());
} finally {
  await browser.close();
  server.kill('SIGTERM');
  await once(server, 'exit');
  rmSync(home, { recursive: true, force: true });
}

async function photograph() {
  const [url, token] = address.split('/#token=');
  for (const prompt of EARLIER) await submit(url, token, prompt);
  const page = await open(WIDE, { colorScheme: 'light' });
  await take(page, 'page-new');
  await page.getByRole('button', { name: 'Start the demo' }).click();
  await page.locator('.source-line').nth(18).waitFor();
  await take(page, 'page-typing');
  await page.locator('.approval').waitFor();
  const thread = page.url();
  const narrow = await open(NARROW, { colorScheme: 'light' }, thread);
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
  const dark = await open(WIDE, { colorScheme: 'dark' }, thread);
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

/** The states: a name, the address, and the way to the state from there. */
function mainStates({ waiting, ended }) {
  const readCard = (page) => page.locator('.approval [data-keys], .approval .primary').first().waitFor();
  const tab = (name) => async (page) => {
    await page.getByRole('radio', { name }).click();
    await toTop(page);
  };
  return [
    ['new', '', (page) => page.getByRole('heading', { name: 'What should be done?' }).waitFor()],
    ['approval', `threads/${waiting}`, readCard],
    [
      'edit',
      `threads/${waiting}`,
      async (page) => {
        await page.locator('.approval').focus();
        await page.locator('.approval [data-keys=ready]').waitFor();
        await page.keyboard.press('e');
        await page.getByRole('textbox', { name: 'Arguments as JSON' }).waitFor();
      },
    ],
    ['answer', `threads/${ended}`, (page) => page.locator('.result').waitFor()],
    [
      'script',
      `threads/${ended}`,
      async (page) => {
        await page.locator('.result').waitFor();
        await toTop(page);
      },
    ],
    [
      'call',
      `threads/${ended}`,
      async (page) => {
        await page.locator('.waterfall-row').nth(1).click();
        await page.getByRole('complementary', { name: 'Details of the call' }).waitFor();
      },
    ],
    ['calls', `threads/${ended}`, tab(/^Calls/u)],
    ['replay', `threads/${ended}`, tab('Replay')],
    [
      'finder',
      `threads/${ended}`,
      async (page) => {
        await page.locator('.result').waitFor();
        await page.keyboard.press('Control+k');
        await page.getByRole('list', { name: 'Conversations found' }).getByRole('listitem').first().waitFor();
      },
    ],
    ['models', 'settings/models', (page) => page.getByRole('article').first().waitFor()],
    ['saved', 'settings/saved', (page) => page.getByText('Nothing is saved here.').waitFor()],
    ['tools', 'settings/tools', (page) => page.locator('.call-entry').first().waitFor()],
  ];
}

async function photographStates() {
  const [url, token] = address.split('/#token=');
  for (const prompt of EARLIER) await submit(url, token, prompt);
  const states = mainStates({ waiting: await tour(url, token), ended: await tour(url, token, 'approve') });
  for (const width of WIDTHS)
    for (const look of LOOKS) {
      if (chosen.length > 0 && (Number(chosen[0]) !== width || chosen[1] !== look)) continue;
      const colors = look === 'forced' ? { forcedColors: 'active' } : { colorScheme: look };
      const page = await open({ width, height: width === 390 ? 844 : 1000 }, colors);
      for (const [name, path, reach] of states) {
        await page.goto(`${url}/${path}`);
        await reach(page);
        await take(page, `${name}-${width}-${look}`);
      }
      await page.context().close();
    }
}

/** Runs the demo up to its call that waits, and decides about it. Returns the id of the conversation. */
async function tour(url, token, decision) {
  const { threadId } = await submit(url, token, TOUR);
  const ask = (path, body) => request(url, token, path, body);
  for (;;) {
    const { data } = await ask('approvals');
    const approval = data.find((each) => each.threadId === threadId);
    if (approval === undefined) await new Promise((resolve) => setTimeout(resolve, 200));
    else {
      if (decision !== undefined) await ask(`approvals/${approval.approvalId}`, decision);
      return threadId;
    }
  }
}

async function photographBranch(page, thread) {
  await page.goto(thread);
  await page.locator('.result').waitFor();
  await page.getByRole('radio', { name: 'Replay' }).click();
  await page.getByLabel('Position in the replay').waitFor();
  const position = page.getByLabel('Position in the replay');
  await position.fill(String(Math.round(Number(await position.getAttribute('max')) * 0.9)));
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

function submit(url, token, prompt) {
  return request(url, token, 'submit', { prompt, agentId: 'demo' });
}

async function request(url, token, path, body) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  return (await fetch(`${url}/api/v2/${path}`, { headers, ...sent })).json();
}

async function open(viewport, colors, place) {
  const context = await browser.newContext({ viewport, reducedMotion: 'reduce', ...colors });
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
  console.log(join(images, `${name}.png`));
}

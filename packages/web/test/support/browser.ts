import { existsSync } from 'node:fs';
import { chromium, type Browser, type Page } from 'playwright-core';

const CHROMIUM = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';

const hasChromium = existsSync(CHROMIUM);

/** Tests in a browser are skipped if there is none. In CI they fail. */
export const skipsBrowser = !hasChromium && process.env['CI'] === undefined;

if (skipsBrowser) console.warn(`skipped: tests in a browser need Chromium at ${CHROMIUM}; CHROMIUM_PATH names another`);

const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The default time in ms that a page has for what a test waits for. A busy machine takes as long as it takes. */
const WAIT_MS = 120_000;

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
}

export interface WatchedPage {
  readonly page: Page;
  /** Errors of the page and messages of its console, except about requests that a test lets fail. */
  readonly problems: string[];
  /** Addresses of requests to other servers. */
  readonly foreign: string[];
}

/** Opens a page of its own, and records forbidden events in it. */
export async function openPage(
  browser: Browser,
  { url, token }: { readonly url: string; readonly token: string },
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 1000 }, ...options });
  context.setDefaultTimeout(WAIT_MS);
  // Tests look into scripts that have ended. A test of folded ones removes the choice.
  await context.addInitScript(() => {
    if (localStorage.getItem('toolscript-scripts') === null) localStorage.setItem('toolscript-scripts', 'open');
  });
  const page = await context.newPage();
  const [problems, foreign]: [string[], string[]] = [[], []];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    const isRequest = message.text().startsWith('Failed to load resource');
    if (['error', 'warning'].includes(message.type()) && !isRequest) problems.push(message.text());
  });
  page.on('request', (request) => {
    const address = request.url();
    if (!address.startsWith(`${url}/`) && !address.startsWith('data:')) foreign.push(address);
  });
  await page.goto(`${url}/#token=${token}`);
  // The token is stored by then: a test may open another address at once.
  await page.locator('.thread-list > *, .sign-in').first().waitFor({ state: 'attached' });
  return { page, problems, foreign };
}

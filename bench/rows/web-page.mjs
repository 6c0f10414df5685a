import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { absentRow, alternate } from '../measure.mjs';
import { watchPage } from '../watch-page.mjs';

const TOKEN = 'token-of-the-benchmark';
const CHROMIUM = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
];
/** 100 deltas a second. */
const EVERY_MS = 10;
/** Bytes in a second. */
const SLOW = 50 * 1024;
const VIEWPORT = { width: 1440, height: 1000 };

const KINDS = [
  ['markdown', 'sections with lists and code'],
  ['fence', 'one block of code'],
  ['plain', 'one paragraph'],
  ['script', 'a script'],
];

export const name = 'web-page';
export const ownResult = true;

/** The web page in Chromium while a model writes 100 deltas a second; the server is a separate process. */
export async function measure({ effort }) {
  if (!existsSync(CHROMIUM)) return [absentRow(delayRow(KINDS[0]), `there is no Chromium at ${CHROMIUM}`)];
  const { chromium } = await import('playwright-core');
  const server = await PageServer.open();
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
  try {
    const rows = [];
    for (const kind of KINDS) rows.push(...(await rowsOf(kind, server, browser, effort)));
    rows.push(await memoryRow(server, browser, effort), await openRow(server, browser, effort));
    rows.push(...(await slowRows(server, browser, effort)));
    return rows;
  } finally {
    await browser.close();
    await server.close();
  }
}

function delayRow([kind, title]) {
  return {
    name: `web-delta-${kind}`,
    title: `from a delta's byte in the page to its frame on the screen: ${title}`,
    unit: 'ms',
    better: 'lower',
    limit: 50,
    limitOf: 'p99',
  };
}

async function rowsOf(kind, server, browser, { pageDeltas }) {
  const { delays, frames } = await stream(server, browser, { kind: kind[0], deltas: pageDeltas, everyMs: EVERY_MS });
  const longest = {
    name: `web-frame-${kind[0]}`,
    title: `the longest frame meanwhile: ${kind[1]}`,
    unit: 'ms',
    better: 'lower',
    limit: 50,
    notes: [`${frames.filter((ms) => ms > 50).length} frames took longer than 50 ms`],
  };
  return [
    await alternate(delayRow(kind), ours(delays), 1),
    await alternate(longest, ours([Math.max(0, ...frames)]), 1),
  ];
}

/** The heap of the page after a fifth of many short deltas, and after all of them. */
async function memoryRow(server, browser, { pageEvents }) {
  const { heaps } = await stream(server, browser, { kind: 'plain', deltas: pageEvents, everyMs: 2 }, [0.2, 1]);
  const row = {
    name: 'web-memory',
    title: `memory of the page for one more of ${pageEvents} deltas`,
    unit: 'bytes',
    better: 'lower',
    limit: 250,
  };
  return alternate(row, ours([(heaps[1] - heaps[0]) / (pageEvents * 0.8)]), 1);
}

/** A browser without a cache, and a server that has answered before. */
async function openRow(server, browser, { pageOpens }) {
  const row = {
    name: 'web-open',
    title: 'from the address to the first conversation on the screen',
    unit: 'ms',
    better: 'lower',
    limit: 1_000,
  };
  const samples = [];
  for (let round = 0; round < pageOpens; round += 1) {
    const context = await browser.newContext({ viewport: VIEWPORT });
    const page = await context.newPage();
    await page.goto(`${server.url}/#token=${TOKEN}`, { waitUntil: 'commit' });
    await page.locator('.thread-row').first().waitFor();
    samples.push(await page.evaluate(() => performance.now()));
    await context.close();
  }
  return alternate(row, ours(samples), 1);
}

/** A line of 50 KB a second, and a browser without a cache. */
async function slowRows(server, browser, { pageOpens }) {
  const paint = {
    name: 'web-slow-paint',
    title: 'from the address to the first paint, at 50 KB a second',
    unit: 'ms',
    better: 'lower',
    limit: 1_500,
  };
  const bytes = {
    name: 'web-transferred',
    title: 'bytes of the first load, as transferred',
    unit: 'bytes',
    better: 'lower',
    limit: 250_000,
  };
  const [paints, sizes] = [[], []];
  for (let round = 0; round < pageOpens; round += 1) {
    const context = await browser.newContext({ viewport: VIEWPORT });
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    let size = 0;
    session.on('Network.loadingFinished', ({ encodedDataLength }) => (size += encodedDataLength));
    await session.send('Network.enable');
    const line = { offline: false, latency: 0, downloadThroughput: SLOW, uploadThroughput: SLOW };
    await session.send('Network.emulateNetworkConditions', line);
    await page.goto(`${server.url}/#token=${TOKEN}`, { waitUntil: 'commit' });
    await page.locator('.thread-list > *').first().waitFor({ state: 'attached', timeout: 60_000 });
    const [entry] = await page.evaluate(() =>
      performance.getEntriesByName('first-contentful-paint').map(({ startTime }) => startTime),
    );
    paints.push(entry);
    sizes.push(size);
    await context.close();
  }
  return [await alternate(paint, ours(paints), 1), await alternate(bytes, ours(sizes), 1)];
}

function ours(samples) {
  return [{ name: 'toolscript', role: 'ours', block: () => samples }];
}

/** Shows a run in a new page to its end. `heapsAt`: shares of the deltas after which the heap is measured. */
async function stream(server, browser, prompt, heapsAt = []) {
  const context = await browser.newContext({ viewport: VIEWPORT });
  const page = await context.newPage();
  await watchPage(page);
  await page.goto(`${server.url}/#token=${TOKEN}`);
  await page.getByLabel('Prompt').fill(JSON.stringify(prompt));
  await page.keyboard.press('Enter');
  const heaps = [];
  for (const share of heapsAt.length === 0 ? [1] : heapsAt) {
    // A script that has ended shows only its first lines, perhaps before the last marks were on the screen.
    const last = Math.floor(prompt.deltas * share) - 20;
    await page.waitForFunction((number) => globalThis.watched.last >= number, last, { timeout: 60_000 });
    if (heapsAt.length > 0) heaps.push(await heapOf(page));
  }
  const { delays, frames } = await page.evaluate(() => globalThis.watched);
  await context.close();
  assert.ok(delays.length > 10, 'the page showed no deltas');
  return { delays, frames, heaps };
}

async function heapOf(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.enable');
  for (let round = 0; round < 3; round += 1) await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}

class PageServer {
  #child;
  url;

  static async open() {
    const server = new PageServer();
    const path = fileURLToPath(new URL('../children/page-server.mjs', import.meta.url));
    server.#child = fork(path, [TOKEN]);
    [{ url: server.url }] = await once(server.#child, 'message');
    return server;
  }

  async close() {
    this.#child.send('close');
    await once(this.#child, 'exit');
  }
}

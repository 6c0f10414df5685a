import { createRequire } from 'node:module';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { watchPage } from './watch-page.mjs';
const { chromium } = await import(createRequire('/work/w-web/packages/web/package.json').resolve('playwright-core')).then((m)=>m.default ?? m);
const folders = { old: '/tmp/w-web-dist-old', new: '/work/w-web/packages/web/dist' };
const kinds = (process.argv[2] ?? 'fence,script').split(',');
const rounds = Number(process.argv[3] ?? 2), deltas = Number(process.argv[4] ?? 1000);
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox','--disable-gpu','--disable-quic','--no-first-run','--disable-background-networking'] });
const q = (a, p) => a.toSorted((x, y) => x - y)[Math.min(a.length - 1, Math.floor(a.length * p))]?.toFixed(1);
for (const kind of kinds) for (let r = 0; r < rounds; r++) for (const [name, folder] of Object.entries(folders)) {
  const child = fork(new URL('children/tmp-page-server.mjs', import.meta.url), ['token-of-the-benchmark'], { env: { ...process.env, PAGE_FOLDER: folder } });
  const [{ url }] = await once(child, 'message');
  const context = await browser.newContext({ viewport: { width: 1440, height: 1000 } });
  const page = await context.newPage();
  await watchPage(page);
  await page.goto(`${url}/#token=token-of-the-benchmark`);
  await page.getByLabel('Prompt').fill(JSON.stringify({ kind, deltas, everyMs: 10 }));
  const cdp = await context.newCDPSession(page); await cdp.send('Performance.enable');
  const m = async () => Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.map(({name,value})=>[name,value]));
  const before = await m();
  await browser.startTracing(page, { categories: ['devtools.timeline', 'toplevel', 'disabled-by-default-devtools.timeline'] });
  await page.keyboard.press('Enter');
  await page.waitForFunction((n) => globalThis.watched.last >= n, deltas - 20, { timeout: 60000 });
  const after = await m();
  const trace = JSON.parse(await browser.stopTracing());
  report(trace.traceEvents);
  const { delays, frames } = await page.evaluate(() => globalThis.watched);
  const d = (k) => (1000*(after[k]-before[k])).toFixed(0);
  console.log(kind, name, 'p50', q(delays, .5), 'p90', q(delays,.9), 'p99', q(delays, .99), 'long frames', frames.length, 'max', Math.max(0,...frames), '| script', d('ScriptDuration'), 'layout', d('LayoutDuration'), 'style', d('RecalcStyleDuration'), 'task', d('TaskDuration'));
  await context.close(); child.send('close'); await once(child, 'exit');
}
await browser.close();

function report(events) {
  const main = events.find((e) => e.name === 'thread_name' && e.args.name === 'CrRendererMain' && events.some((o)=>o.pid===e.pid&&o.tid===e.tid&&o.name==='UpdateLayoutTree'));
  const sums = new Map();
  for (const e of events) if (e.ph === 'X' && e.pid === main?.pid && e.tid === main.tid && e.tdur) sums.set(e.name, (sums.get(e.name) ?? 0) + e.tdur / 1000);
  const frames = events.filter((e) => e.pid === main?.pid && e.name === 'FireAnimationFrame').length;
  console.log('frames', frames, 'CPU per frame ms', (sums.get('RunTask') / frames).toFixed(2)); console.log([...sums].toSorted((a, b) => b[1] - a[1]).slice(0, 14).map(([n, v]) => `${n} ${v.toFixed(0)}`).join(' | '));
}

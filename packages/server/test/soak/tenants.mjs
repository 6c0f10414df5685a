// Measures what a hostile tenant costs an honest one: `node tenants.mjs [SECONDS [STORE [EVENTS
// [LOADS]]]]`; see scripts/soak-server.mjs. The server, the hostile tenant and the honest one are separate processes.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const [seconds = '20', store, events, loads = 'all'] = process.argv.slice(2);
const PHASE_MS = Number(seconds) * 1000;

/** The law of fairness: the honest tenant's p95 is at most this multiple of its quiet value. */
const MAX_RATIO = 3;
/** The law of the flood: p99 of /healthz, in ms. */
const MAX_HEALTH_MS = 200;

const agent = new http.Agent({ keepAlive: true });

function start(file, ...parameters) {
  const stdio = ['ignore', 'inherit', 'inherit', 'ipc'];
  return fork(new URL(file, import.meta.url), parameters.filter(Boolean), { stdio });
}

/** Reads the whole answer, or the answer until it contains `until`. Rejects unless the status is 200 or 202. */
function ask(url, method, path, { body, until } = {}) {
  return new Promise((resolve, reject) => {
    const headers = { authorization: 'Bearer honest', 'content-type': 'application/json' };
    const request = http.request(`${url}${path}`, { method, agent, headers });
    request.on('response', (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
        if (until !== undefined && text.includes(until)) resolve(text);
      });
      response.on('end', () => {
        if (response.statusCode === 200 || response.statusCode === 202) resolve(text);
        else reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`));
      });
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** The times of an honest tenant's operations until the end of the phase, in ms, by operation. */
async function honestTenant(url) {
  const times = {};
  const timed = async (name, act) => {
    const began = performance.now();
    const value = await act();
    (times[name] ??= []).push(performance.now() - began);
    return value;
  };
  for (const end = performance.now() + PHASE_MS; performance.now() < end; await delay(20)) {
    const run = async () => {
      const body = { prompt: 'return 1 + 1' };
      const submitted = JSON.parse(await timed('submit', () => ask(url, 'POST', '/api/v2/submit', { body })));
      await ask(url, 'GET', `/api/v2/stream/${submitted.runId}`, { until: '"response_done"' });
      return submitted;
    };
    const { threadId } = await timed('run, from its prompt to its end', run);
    await timed('list threads', () => ask(url, 'GET', '/api/v2/threads'));
    await timed('read a thread', () => ask(url, 'GET', `/api/v2/threads/${threadId}`));
    await timed('list approvals', () => ask(url, 'GET', '/api/v2/approvals'));
  }
  return times;
}

async function health(url) {
  const times = [];
  for (const end = performance.now() + PHASE_MS; performance.now() < end; await delay(20)) {
    const began = performance.now();
    await ask(url, 'GET', '/healthz');
    times.push(performance.now() - began);
  }
  return { '/healthz': times };
}

function percentile(times, share) {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/** Measures the same work without and with the load. */
async function beside(named, work) {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-tenants-'));
  const server = start('soaked-server.mjs', folder, store, events);
  try {
    const [url] = await once(server, 'message');
    await work(url);
    const quiet = await work(url);
    const hostile = start('hostile-tenant.mjs', url, named);
    await once(hostile, 'message');
    const loaded = await work(url);
    const answers = once(hostile, 'message');
    hostile.send('end');
    return { quiet, loaded, statuses: (await answers)[0] };
  } finally {
    server.kill('SIGKILL');
    await once(server, 'exit');
    rmSync(folder, { recursive: true, force: true });
  }
}

const shown = (ms) => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;

function report(name, quiet, loaded, share) {
  const ratio = percentile(loaded, share) / percentile(quiet, share);
  const figures = [0.5, share].map(
    (one) => `p${100 * one} ${shown(percentile(quiet, one))} → ${shown(percentile(loaded, one))}`,
  );
  console.log(`${name}: ${figures.join(', ')} (${ratio.toFixed(1)} times), ${quiet.length} → ${loaded.length} times`);
  return ratio;
}

const machine = () => `${availableParallelism()} processors, load ${loadavg()[0].toFixed(1)}`;

const place = store?.split(':')[0] ?? 'libsql';
console.log(`A hostile tenant (${loads}) beside an honest one, ${place}, ${seconds} s (${machine()})`);
const tenants = await beside(loads, honestTenant);
const ratios = Object.keys(tenants.quiet).map((name) => report(name, tenants.quiet[name], tenants.loaded[name], 0.95));
console.log(`answers to the hostile tenant: ${JSON.stringify(tenants.statuses)} (${machine()})`);

console.log(`900 streams and a flood of 8 MB bodies, ${seconds} s (${machine()})`);
const flooded = await beside('flood', health);
report('/healthz', flooded.quiet['/healthz'], flooded.loaded['/healthz'], 0.99);
const healthMs = percentile(flooded.loaded['/healthz'], 0.99);
console.log(`answers to the flood: ${JSON.stringify(flooded.statuses)} (${machine()})`);

const isFair = ratios.every((ratio) => ratio <= MAX_RATIO);
if (!isFair) console.error(`The honest tenant's p95 is more than ${MAX_RATIO} times its quiet value.`);
if (healthMs > MAX_HEALTH_MS) console.error(`The p99 of /healthz is more than ${MAX_HEALTH_MS} ms.`);
process.exit(isFair && healthMs <= MAX_HEALTH_MS ? 0 : 1);

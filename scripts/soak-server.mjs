// `npm run soak:server [-- RUNS [DROPS [SEED]]]`: RUNS concurrent runs (200) on one server, with four clients for each.
// One of the four loses its connection at random, DROPS times (1 000) in total, and the server restarts once. Fails if
// the events of a client do not fold into the stored thread. Prints the figures and the seed.
//
// `npm run soak:server -- tenants [SECONDS [STORE [EVENTS [LOADS]]]]`: one tenant at all of its limits beside an honest
// one, then 900 streams and a flood of 8 MB bodies. Each is measured for SECONDS (20) without and with the load, on
// libSQL, or on STORE (`postgres://…` of an empty schema) with EVENTS (`redis://…`). Fails if the honest tenant's p95 is
// more than 3 times its quiet value, or if the p99 of /healthz is more than 200 ms. LOADS: those of hostile-tenant.mjs.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { prepare, root } from './prepare.mjs';

const [first, ...rest] = process.argv.slice(2);
if (first === 'tenants') soakTenants(rest);
else soakStreams(process.argv.slice(2));

function soakTenants(parameters) {
  prepare();
  run([join(root, 'packages/server/test/soak/tenants.mjs'), ...parameters]);
}

function soakStreams([runs = '200', drops = '1000', seed = String(Date.now() % 1_000_000)]) {
  if (![runs, drops, seed].every((number) => Number.isSafeInteger(Number(number)) && Number(number) > 0)) {
    console.error(
      'soak:server: an argument is not a whole number. Give runs, drops and a seed: npm run soak:server -- 200 1000 16',
    );
    process.exit(2);
  }
  prepare();
  const test = 'packages/client/test/stream-laws.test.ts';
  run([join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--testTimeout', '3600000', test], {
    TOOLSCRIPT_STREAM_RUNS: runs,
    TOOLSCRIPT_STREAM_DROPS: drops,
    TOOLSCRIPT_STREAM_SEED: seed,
  });
}

function run(parameters, environment = {}) {
  const env = { ...process.env, ...environment };
  const { status } = spawnSync(process.execPath, parameters, { cwd: root, stdio: 'inherit', env });
  process.exit(status ?? 1);
}

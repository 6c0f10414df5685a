// `npm run bench`: installs and builds what is missing, the peers included, and runs the benchmarks.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isInstalled, npmCall, prepare, root } from './prepare.mjs';

const HELP = `npm run bench [-- OPTIONS]
  --check      exit 1 where a ratio beside a peer is beyond its budget
  --strict     exit 1 also where an absolute budget is not met
  --quick      a short run, below a minute, with rough figures
  --row NAME   one row only; may be given more than once
  --no-peers   do not install peers; those that are there are measured`;

const peers = join(root, 'bench/peers');
const given = process.argv.slice(2);

if (given.includes('--help')) {
  console.log(HELP);
  process.exit(0);
}
prepare();
if (!given.includes('--no-peers')) installPeers({ native: !given.includes('--quick') });
const main = join(root, 'bench/main.mjs');
// isolated-vm requires the flag, which applies to every column.
const { status } = spawnSync(
  process.execPath,
  ['--no-node-snapshot', main, ...given.filter((option) => option !== '--no-peers')],
  { stdio: 'inherit', cwd: root },
);
process.exit(status ?? 1);

/** Installs the peers. If a peer cannot be installed, its column reports the reason, and the run continues. */
function installPeers({ native }) {
  if (!isInstalled(peers)) {
    console.error('installing the peers …');
    npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']);
  }
  const isolatedVm = join(peers, 'node_modules/isolated-vm');
  if (!native || !existsSync(isolatedVm) || existsSync(join(isolatedVm, 'out/isolated_vm.node'))) return;
  console.error('compiling isolated-vm, about a minute …');
  npm(['rebuild', 'isolated-vm', '--no-audit', '--no-fund', '--loglevel=error']);
}

function npm(args) {
  if (spawnSync(...npmCall(args, { cwd: peers })).status !== 0)
    console.error(
      `npm ${args[0]} failed, so columns are missing. The report names the reason of each. To try again: npm run bench`,
    );
}

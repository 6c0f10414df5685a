// `npm run bench`: installs and builds what is missing, the peers included, and runs the benchmarks.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isInstalled, npmCall, prepare, root } from './prepare.mjs';

const HELP = `npm run bench [-- OPTIONS]
  --check      exit 1 where a ratio beside a peer is beyond its budget
  --strict     exit 1 also where an absolute budget is not met
  --quick      about a minute: ten rows of one process, with rough figures; names the rows left out
  --row NAME   one row only; may be given more than once
  --no-peers   do not install peers; those that are there are measured
  --against REV  only: compare this checkout with a revision, by processor time and by counters`;

const peers = join(root, 'bench/peers');
const given = process.argv.slice(2);

if (given.includes('--help')) {
  console.log(HELP);
  process.exit(0);
}
prepare();
if (given[0] === '--against') process.exit(compareWith(given[1]));
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

/** Builds the revision's core in a temporary folder, with the packages that are installed here, and compares. */
function compareWith(revision = 'HEAD') {
  const folder = join(mkdtempSync(join(tmpdir(), 'toolscript-against-')), 'checkout');
  const git = (...args) => spawnSync('git', args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] }).status;
  try {
    if (git('worktree', 'add', '--detach', folder, revision) !== 0) return 1;
    for (const installed of ['node_modules', 'packages/core/node_modules'])
      if (existsSync(join(root, installed))) symlinkSync(join(root, installed), join(folder, installed));
    console.error(`building ${revision} …`);
    const built = spawnSync(...npmCall(['run', 'build', '--silent'], { cwd: join(folder, 'packages/core') }));
    if (built.status !== 0) return 1;
    const program = join(root, 'bench/against.mjs');
    return spawnSync(process.execPath, [program, folder, revision], { cwd: root, stdio: 'inherit' }).status ?? 1;
  } finally {
    git('worktree', 'remove', '--force', folder);
    rmSync(join(folder, '..'), { recursive: true, force: true });
  }
}

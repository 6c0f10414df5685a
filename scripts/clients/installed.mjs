// Installs a client from npm at its pinned version, in the user's cache folder.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { npmCall } from '../prepare.mjs';

const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'toolscript-clients');

/** The folder with the `node_modules` of a package, and of others that it needs. Throws if one cannot be installed. */
export function installed(specification, others = []) {
  const folder = join(CACHE, specification.replace(/^@/u, '').replaceAll(/[^\w.-]+/gu, '-'));
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  writeFileSync(join(unfinished, 'package.json'), '{ "private": true }\n');
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const [command, args, common] = npmCall(['install', ...options, specification, ...others], { cwd: unfinished });
  const { status } = spawnSync(command, args, { ...common, env: { ...process.env, NODE_ENV: '' } });
  if (status !== 0) {
    rmSync(unfinished, { recursive: true, force: true });
    throw new Error(`npm could not install ${specification}. Check the network and the registry.`);
  }
  renameSync(unfinished, folder);
  return folder;
}

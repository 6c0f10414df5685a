import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const peersFolder = new URL('../peers/', import.meta.url);

/** Resolves modules from the peers' own folder, which the install of the repository does not include. */
export const requirePeer = createRequire(new URL('package.json', peersFolder));

/** The installed version of a peer. Throws if it is not installed. */
export function peerVersion(name) {
  const manifest = new URL(`node_modules/${name}/package.json`, peersFolder);
  if (!existsSync(manifest)) throw new Error('not installed');
  return JSON.parse(readFileSync(manifest, 'utf8')).version;
}

/** The file that `import` would load; `require.resolve` finds only the CommonJS file, or none. */
export function importablePeer(name) {
  const folder = new URL(`node_modules/${name}/`, peersFolder);
  const { exports } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'));
  let entry = exports['.'];
  while (typeof entry !== 'string') entry = entry.import ?? entry.default;
  return new URL(entry, folder).href;
}

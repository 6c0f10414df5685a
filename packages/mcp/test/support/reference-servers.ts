import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);

const MANIFESTS = {
  everything: () => require.resolve('@modelcontextprotocol/server-everything/package.json'),
  filesystem: () => require.resolve('@modelcontextprotocol/server-filesystem/package.json'),
  memory: () => require.resolve('@modelcontextprotocol/server-memory/package.json'),
};

/** The command that starts one of the protocol's own reference servers over stdio. */
export function referenceServer(name: keyof typeof MANIFESTS, ...args: string[]) {
  return { command: process.execPath, args: [join(dirname(MANIFESTS[name]()), 'dist/index.js'), ...args] };
}

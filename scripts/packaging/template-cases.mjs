// The templates of `npm create toolscript`, with the packed packages in place of published ones.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../prepare.mjs';
import { npm } from './packages.mjs';
import { run } from './shell.mjs';

/** What each template prints without a key, and the npm script that prints it. */
export const TEMPLATES = [
  { name: 'agent', script: 'start', expected: /Ada owes 165 euros/u },
  { name: 'mcp-gateway', script: 'check', expected: /tools\.mcp\.memory\.read_graph/u },
  { name: 'express', script: 'typecheck', expected: /^ok$/u },
  { name: 'next', script: 'build', expected: /\/api\/chat/u },
];

/** Creates a project of a template, installs it, and returns what its script prints. */
export function templateOutput(folder, { name, script }, packed) {
  run(process.execPath, [join(root, 'packages/create-toolscript/bin/create-toolscript.js'), folder, '-t', name], {
    cwd: root,
  });
  const path = join(folder, 'package.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8'));
  manifest.overrides = {};
  for (const [own, { file }] of packed) {
    manifest.overrides[own] = `file:${file}`;
    if (manifest.dependencies[own] !== undefined) manifest.dependencies[own] = `file:${file}`;
  }
  if (script === 'typecheck') {
    manifest.scripts.typecheck = 'tsc && echo ok';
    manifest.devDependencies.typescript = '5.9.3';
  }
  writeFileSync(path, JSON.stringify(manifest, undefined, 2));
  npm(['install', '--no-audit', '--no-fund', '--loglevel=error'], folder);
  return npm(['run', '--silent', script], folder);
}

// The example with Mastra, in a separate project: it installs 132 MB, and needs Node.js 22.
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { makeProject } from './packages.mjs';
import { run } from './shell.mjs';

const NODE = process.execPath;
const examples = fileURLToPath(new URL('../../examples/16-agent-libraries/', import.meta.url));

/** The reason why the example cannot run; undefined if it can. */
export function mastraRefusal() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 18)) return undefined;
  return `Mastra needs Node.js 22.13, and its example, run as it is, 22.18; this is ${process.versions.node}`;
}

/** Checks the example with Mastra's own types, and runs it. */
export function mastraExample(folder, core) {
  const project = makeProject(folder, [core, '@types/node@20.19.43'], ['typescript 5', '@mastra/core'], examples);
  const options = ['--strict', '--noEmit', '--skipLibCheck', '--allowImportingTsExtensions', '--types', 'node'];
  const target = ['--module', 'nodenext', '--target', 'es2023'];
  run(NODE, [join(project, 'node_modules/typescript-5/bin/tsc'), ...options, ...target, 'mastra.ts'], { cwd: project });
  return run(NODE, ['mastra.ts'], { cwd: project });
}

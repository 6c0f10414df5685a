// The example of the README, as a newcomer runs it: `npm install` of one package, one file, one command.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../prepare.mjs';
import { npm } from './packages.mjs';
import { run } from './shell.mjs';

const PROGRAM = /<!-- file weather\.mjs -->\n```js\n(.*?)```/su;
const OUTPUT = /\nnode weather\.mjs\n```\n\n<!-- output -->\n```text\n(.*?)```/su;

/** Throws if the program prints anything else than the page shows. */
export function readmeExample(project, file) {
  const page = readFileSync(join(root, 'README.md'), 'utf8');
  mkdirSync(project, { recursive: true });
  writeFileSync(join(project, 'package.json'), '{ "name": "tried", "private": true }');
  npm(['install', '--no-audit', '--no-fund', '--loglevel=error', file], project);
  writeFileSync(join(project, 'weather.mjs'), PROGRAM.exec(page)[1]);
  const said = run(process.execPath, ['weather.mjs'], { cwd: project });
  if (said !== OUTPUT.exec(page)[1].trim()) throw new Error(`it printed:\n${said}`);
  return 'ok';
}

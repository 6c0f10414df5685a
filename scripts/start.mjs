// `npm start`: installs and builds what is missing, and serves conversations about a sample project, with the web page.
import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { prepare, root } from './prepare.mjs';

prepare();
const sample = join(root, '.sample');
if (!existsSync(sample)) cpSync(join(root, 'examples/01-first-answer/project'), sample, { recursive: true });
const cli = join(root, 'packages/cli/bin/toolscript.js');
// On a terminal, a user can look at the page, so the browser opens it.
const open = process.stdout.isTTY ? ['--open'] : [];
const server = spawn(process.execPath, [cli, 'serve', '--workspace', sample, ...open, ...process.argv.slice(2)], {
  stdio: 'inherit',
});
// The terminal sends Ctrl-C to both processes; the server ends first.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => server.kill('SIGTERM'));
server.on('exit', (status) => process.exit(status ?? 1));

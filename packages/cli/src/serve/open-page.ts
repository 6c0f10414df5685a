import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The command that opens an address, by platform. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

const DEFAULT_OPENER = ['xdg-open'] as const;

/**
 * Opens an address in the user's browser. The address contains the token, and other users can see the arguments of a
 * process. So the browser opens a file that only this user can read, and the file redirects to the address.
 *
 * @returns a function that deletes the file.
 */
export function openPage(url: string, warn: (message: string) => void): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-page-'));
  const file = join(folder, 'open.html');
  writeFileSync(file, redirectTo(url), { mode: 0o600, flag: 'wx' });
  const [program, ...options] = OPENERS[process.platform] ?? DEFAULT_OPENER;
  const child = spawn(program, [...options, pathToFileURL(file).href], { stdio: 'ignore', detached: true });
  child.on('error', () => warn('Toolscript could not start a browser. Open the address above yourself.'));
  child.unref();
  return () => rmSync(folder, { recursive: true, force: true });
}

function redirectTo(url: string): string {
  const address = url.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  return `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${address}"><title>Toolscript</title>\n`;
}

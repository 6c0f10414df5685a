import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { Place } from '../support/place.js';
import { serve } from './support/served.js';
import { until } from '@toolscript/testkit/until';

/** A program in place of the one that opens a browser. It writes down its arguments. */
function fakeOpener(folder: string, log: string): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'xdg-open');
  writeFileSync(file, `#!/bin/sh\nprintf '%s\\n' "$@" > '${log}.part' && mv '${log}.part' '${log}'\n`);
  chmodSync(file, 0o755);
  return folder;
}

describe.skipIf(process.platform !== 'linux')('serve --open (skipped where the opener is another program)', () => {
  it('opens the page with the token, and shows the token to no other user', async () => {
    const place = new Place();
    const log = join(place.base, 'opened');
    const bin = fakeOpener(join(place.base, 'opener'), log);
    const server = await serve(['--open'], { env: { ...place.env, PATH: `${bin}${delimiter}${place.env['PATH']}` } });
    await until(() => existsSync(log));
    const address = readFileSync(log, 'utf8').trim();
    expect(address).not.toContain(server.token);
    const file = fileURLToPath(address);
    expect(readFileSync(file, 'utf8')).toContain(`url=${server.url}/#token=${server.token}"`);
    expect(await (await fetch(server.url)).text()).toContain('<div id="root">');
    expect(await server.end()).toBe(0);
    expect(existsSync(file)).toBe(false);
  });
});

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Place } from '../support/place.js';

function configured(own: object, workspace?: object): Place {
  const place = new Place();
  const file = join(place.env['XDG_CONFIG_HOME']!, 'toolscript', 'config.json');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(own));
  if (workspace !== undefined)
    writeFileSync(join(place.workspace, 'toolscript.config.json'), JSON.stringify(workspace));
  return place;
}

async function toolsOf(place: Place, ...args: string[]): Promise<string[]> {
  const { stdout, stderr, status } = await place.run(['tools', '--json', ...args]);
  expect(status, stderr).toBe(0);
  return (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name);
}

const WEB = ['webSearch', 'fetchUrl', 'http'];
const webOf = (names: readonly string[]): string[] => WEB.filter((name) => names.includes(name));

describe('the tools of the web', () => {
  it('exist only if an exposure names them, or a pack that has them', async () => {
    const place = configured({
      packs: {
        reading: { tools: ['readFile', 'fetchUrl'] },
        both: { extends: ['file-ops', 'research'] },
        requests: { extends: 'reading', tools: ['http'] },
      },
    });
    expect(webOf(await toolsOf(place, '--pack', 'research'))).toEqual(['webSearch', 'fetchUrl']);
    expect(webOf(await toolsOf(place, '--pack', 'both'))).toEqual(['webSearch', 'fetchUrl']);
    expect(await toolsOf(place, '--pack', 'both')).toContain('applyPatch');
    expect(webOf(await toolsOf(place, '--pack', 'reading'))).toEqual(['fetchUrl']);
    expect(webOf(await toolsOf(place, '--pack', 'requests'))).toEqual(['fetchUrl', 'http']);
    expect(webOf(await toolsOf(place, '--pack', 'file-ops'))).toEqual([]);
    expect(webOf(await toolsOf(place, '--tools', 'webSearch,readFile'))).toEqual(['webSearch']);
  });

  it('are not among all tools, whatever packs name', async () => {
    const place = configured({ packs: { reading: { tools: ['fetchUrl'] } } });
    const names = await toolsOf(place);
    expect(webOf(names)).toEqual([]);
    expect(names).toContain('exec');
  });

  it('are not opened by a workspace, which can close them', async () => {
    const opening = configured({}, { expose: { tools: ['readFile', 'webSearch', 'http'] } });
    await opening.run(['trust', opening.workspace]);
    expect(await toolsOf(opening)).toEqual(['readFile']);
    const closing = configured(
      { expose: { tools: ['readFile', ...WEB] } },
      { expose: { tools: ['readFile', 'fetchUrl'] } },
    );
    await closing.run(['trust', closing.workspace]);
    expect(await toolsOf(closing)).toEqual(['readFile', 'fetchUrl']);
  });

  it('without a key, fail with the setting', async () => {
    const place = configured({ expose: { pack: 'research' }, approve: 'auto' });
    const script = place.answer(`return await tools.webSearch({ query: 'larks' }).catch((error) => error.message);`);
    const { stdout } = await place.run(['run', script], { env: { PERPLEXITY_API_KEY: '' } });
    expect(stdout).toContain('PERPLEXITY_API_KEY');
  });

  it('contact a private address only if the user’s own configuration allows it', async () => {
    const script = `return await tools.fetchUrl({ urls: 'http://127.0.0.1:65531/' }).catch((error) => error.message);`;
    const base = { expose: { pack: 'research' }, approve: 'auto' };
    const refused = configured(base);
    expect((await refused.run(['run', refused.answer(script)])).stdout).toContain('not public');
    const allowed = configured({ ...base, web: { allow: ['127.0.0.1'] } });
    expect((await allowed.run(['run', allowed.answer(script)])).stdout).not.toContain('not public');
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { pageFolder as dist } from '@toolscript/web';
import { describe, expect, it } from 'vitest';

/** The maximum size of all scripts of the first load, compressed, in bytes. */
const MAX_SCRIPT_BYTES = 200_000;

/** A script and the scripts that it imports at once. */
function firstLoad(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const text = readFileSync(join(dist, 'assets', file), 'utf8');
  for (const [, name] of text.matchAll(/(?:from|^import|;import)\s*"\.\/([^"]+\.js)"/gmu)) firstLoad(name!, seen);
  return seen;
}

describe('the built page', () => {
  const html = readFileSync(join(dist, 'index.html'), 'utf8');

  it('loads at most 200 KB of scripts at first, compressed, and the editor later', () => {
    const [, entry] = /src="\.\/assets\/([^"]+\.js)"/u.exec(html)!;
    const files = firstLoad(entry!);
    const bytes = [...files].map((file) => gzipSync(readFileSync(join(dist, 'assets', file))).length);
    const total = bytes.reduce((sum, size) => sum + size, 0);
    expect(total).toBeGreaterThan(50_000);
    expect(total).toBeLessThanOrEqual(MAX_SCRIPT_BYTES);
    expect(readdirSync(join(dist, 'assets')).some((file) => file.startsWith('json-editor'))).toBe(true);
    expect([...files].some((file) => file.startsWith('json-editor'))).toBe(false);
  });

  it('has each script and stylesheet compressed, too', () => {
    const files = readdirSync(join(dist, 'assets'));
    const sources = files.filter((file) => /\.(?:js|css)$/u.test(file));
    expect(sources.length).toBeGreaterThan(3);
    for (const file of sources) {
      const bytes = readFileSync(join(dist, 'assets', file));
      expect(brotliDecompressSync(readFileSync(join(dist, 'assets', `${file}.br`))).equals(bytes)).toBe(true);
      expect(gunzipSync(readFileSync(join(dist, 'assets', `${file}.gz`))).equals(bytes)).toBe(true);
    }
  });

  it('shows its frame before its scripts have arrived', () => {
    expect(html).toMatch(/<div id="root">\s*<div class="shell">/u);
  });

  it('has no inline script or style, and names no other host', () => {
    expect(html).not.toMatch(/<style|style=|<script(?![^>]*src=)/u);
    expect(html).not.toMatch(/https?:/u);
    const css = readdirSync(join(dist, 'assets')).filter((file) => file.endsWith('.css'));
    expect(css.length).toBeGreaterThan(0);
    for (const file of css) expect(readFileSync(join(dist, 'assets', file), 'utf8')).not.toMatch(/url\(|@import/u);
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { expect, it } from 'vitest';

const PACKAGE = dirname(dirname(fileURLToPath(import.meta.url)));

/** Bytes of the client in a page, compressed. */
const MAX_BYTES = 16 * 1024;

it('is small in a page, and needs nothing that a browser lacks', async () => {
  const folder = mkdtempSync(join(PACKAGE, 'bundle-'));
  const input = join(folder, 'page.mjs');
  writeFileSync(input, "import { createClient } from '@toolscript/client';\nglobalThis.createClient = createClient;\n");
  const warnings: string[] = [];
  try {
    const bundle = await rolldown({ input, platform: 'browser', onwarn: ({ message }) => warnings.push(message) });
    const { output } = await bundle.generate({ format: 'esm', minify: true });
    expect(warnings).toEqual([]);
    expect(output).toHaveLength(1);
    expect(output[0].imports).toEqual([]);
    const modules = Object.entries(output[0].modules).filter(([, { renderedLength }]) => renderedLength > 0);
    expect(modules.map(([id]) => id).filter((id) => /node_modules\/(?!openapi-fetch)/u.test(id))).toEqual([]);
    expect(gzipSync(output[0].code).length).toBeLessThan(MAX_BYTES);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

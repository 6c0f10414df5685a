import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig } from 'vite';

/** Writes each script and stylesheet also compressed, for servers that send it so. */
const compressed = {
  name: 'compressed',
  writeBundle({ dir }) {
    const folder = join(dir, 'assets');
    for (const name of readdirSync(folder)) {
      if (!/\.(?:js|css)$/u.test(name)) continue;
      const bytes = readFileSync(join(folder, name));
      const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
      writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes, { params }));
      writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
    }
  },
};

export default defineConfig({
  // The server says in <base> where it is mounted.
  base: './',
  plugins: [compressed],
  build: {
    target: 'es2023',
    modulePreload: { polyfill: false },
    // The content security policy allows no fonts or images from data URLs in stylesheets.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    license: { fileName: 'LICENSES.md' },
    rolldownOptions: {
      // Libraries mark modules for React's server; a page has no use for it.
      onLog: (level, log, handle) => (log.code === 'MODULE_LEVEL_DIRECTIVE' ? undefined : handle(level, log)),
    },
  },
});

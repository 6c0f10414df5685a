import { defineConfig } from 'vite';

export default defineConfig({
  // The server says in <base> where it is mounted.
  base: './',
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

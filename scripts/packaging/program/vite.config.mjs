export default { logLevel: 'error', ssr: { noExternal: true }, build: { ssr: 'main.mjs', outDir: 'out/vite' } };

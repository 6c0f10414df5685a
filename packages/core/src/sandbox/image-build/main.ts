import { buildSandbox } from './build-image.js';

// Run by the package's build, from dist/sandbox/image-build: guest sources are not compiled, they are read
// from src, and the artefacts land beside the code that loads them.
const guest = new URL('../../../src/sandbox/guest/', import.meta.url);
const engine = new URL('../../../engine/', import.meta.url);
const out = new URL('../artefacts/', import.meta.url);
const header = await buildSandbox({ guest, engine, out });
const kib = header.runs.reduce((sum, [start, end]) => sum + end - start, 0) / 1024;
console.log(`sandbox image: ${kib} KiB, engine ${header.engine.slice(0, 12)}`);

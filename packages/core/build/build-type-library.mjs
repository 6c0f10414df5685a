// Writes the type checker's standard library: asks the sandbox what it has, and cuts TypeScript's declarations to
// that. Run after build-sandbox.mjs.
import { writeFile } from 'node:fs/promises';
import { QuickJsPool } from '../dist/sandbox/index.js';
import { buildTypeLibrary } from '../dist/script/check/type-library/build-library.js';
import { SURFACE_SCRIPT } from '../dist/script/check/type-library/surface.js';
import { driveRun, returnedValue } from '../dist/testing/drive-run.js';

/** Limits of time end a script of a model; a build takes as long as its machine needs. */
const TIME_MS = 600_000;
const ATTEMPTS = 20;

const pool = new QuickJsPool({ size: 1 });
try {
  const surface = await readSurface();
  const library = await buildTypeLibrary(surface);
  await writeFile(new URL('../dist/script/check/type-library/guest.lib.d.ts', import.meta.url), library);
  console.log(`type library: ${(library.length / 1024).toFixed(0)} KiB`);
} finally {
  await pool.close();
}

/** A busy machine may take longer than the limit for the compilation of a script, which no option changes. */
async function readSurface(attempt = 1) {
  const run = await driveRun(pool, SURFACE_SCRIPT, { wallMs: TIME_MS, limits: { computeMs: TIME_MS } });
  return run.end.type === 'syntax' && attempt < ATTEMPTS ? readSurface(attempt + 1) : returnedValue(run);
}

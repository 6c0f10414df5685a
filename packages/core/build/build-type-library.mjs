// Writes the type checker's standard library: asks the sandbox what it has, and cuts TypeScript's declarations to
// that. Run after build-sandbox.mjs.
import { writeFile } from 'node:fs/promises';
import { QuickJsPool } from '../dist/sandbox/index.js';
import { buildTypeLibrary } from '../dist/script/check/type-library/build-library.js';
import { SURFACE_SCRIPT } from '../dist/script/check/type-library/surface.js';
import { driveRun, returnedValue } from '../dist/testing/drive-run.js';

const pool = new QuickJsPool({ size: 1 });
try {
  const surface = returnedValue(await driveRun(pool, SURFACE_SCRIPT));
  const library = await buildTypeLibrary(surface);
  await writeFile(new URL('../dist/script/check/type-library/guest.lib.d.ts', import.meta.url), library);
  console.log(`type library: ${(library.length / 1024).toFixed(0)} KiB`);
} finally {
  await pool.close();
}

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'vite';

/**
 * Writes a thread's TypeScript, with all its imports, as one file that Node.js can start; the caller deletes its
 * folder.
 */
export async function bundleThread(source: URL): Promise<{ entry: URL; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'toolscript-thread-'));
  await build({
    configFile: false,
    logLevel: 'silent',
    ssr: { noExternal: true },
    build: {
      ssr: fileURLToPath(source),
      outDir: folder,
      emptyOutDir: false,
      minify: false,
      target: 'node20',
      rolldownOptions: { output: { entryFileNames: 'thread.mjs' } },
    },
  });
  return { entry: pathToFileURL(join(folder, 'thread.mjs')), folder };
}

// A program with the AI SDK 7, in a separate project: the repository itself tests version 6.
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { makeProject } from './packages.mjs';
import { run } from './shell.mjs';

const program = fileURLToPath(new URL('./ai-sdk-7/', import.meta.url));
const OPTIONS = '--strict --skipLibCheck --module nodenext --target es2023 --types node --outDir out'.split(' ');

/** The output of the program if both invoices are paid after one approval. */
export const PAID =
  /^\{"offered":\["run_script"\],"declares":true,"requests":1,"before":0,"paid":\[5,7\],"text":"done"\}$/mu;

/** Compiles the program with the AI SDK's own types, and runs it. */
export function aiSdkProgram(folder, core) {
  const project = makeProject(folder, [core, '@types/node@20.19.43'], ['typescript 5', 'ai'], program);
  run(process.execPath, ['node_modules/typescript-5/bin/tsc', ...OPTIONS, 'caller.ts'], { cwd: project });
  return run(process.execPath, [join('out', 'caller.js')], { cwd: project });
}

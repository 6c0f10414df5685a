import { closeSync, openSync } from 'node:fs';
import { compilerExecutable } from '#core/files/core-files.js';
import { CheckPool, readTypeLibrary } from '#core/script/check/check-pool.js';

// Requests a check while the process can open no more files, and again after it can.
const turn = { principal: undefined, waitMs: 60_000 };
const tools = { name: 'tools', declarations: 'declare const tools: {};\n' };
const executable = compilerExecutable();
readTypeLibrary();
process.emitWarning = () => {};

const taken = [];
try {
  for (;;) taken.push(openSync('/dev/null', 'r'));
} catch (error) {
  if (error.code !== 'EMFILE') throw error;
}
const answers = [];
for (const free of [0, 1, 2, 3]) {
  for (let count = 0; count < free; count++) closeSync(taken.pop());
  const pool = new CheckPool({ executable, size: 1 });
  answers.push((await pool.check(tools, 'export {};', turn)).type);
  pool.close();
  await new Promise((resolve) => setTimeout(resolve, 20));
}
for (const descriptor of taken) closeSync(descriptor);
const pool = new CheckPool({ executable, size: 1 });
answers.push((await pool.check(tools, 'export {};', turn)).type);
pool.close();
console.log(JSON.stringify(answers));
process.exit(0);

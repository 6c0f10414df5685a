// The second engine by its name, in a project that lacks one of its two packages.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './shell.mjs';

const PROGRAM = `
import { createHarness } from '@toolscript/core';

try {
  createHarness({ tools: [], runtime: 'isolated-vm' });
} catch (error) {
  console.log(String(error));
}
`;

/** Returns the message of the error. */
export function engineRefusal(project) {
  writeFileSync(join(project, 'engine.mjs'), PROGRAM);
  return run(process.execPath, ['engine.mjs'], { cwd: project });
}

/** The message if `name` is missing. */
export function missingEngine(name) {
  return new RegExp(
    `^ToolscriptUsageError: .* needs the package ${name}, .* Run: npm install @toolscript/isolated-vm `,
    'u',
  );
}

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { absentRow, alternate } from '../measure.mjs';
import { runNode } from '../processes.mjs';

const BINARY = fileURLToPath(new URL('../../packages/cli/bin/toolscript.js', import.meta.url));
const BUILT = fileURLToPath(new URL('../../packages/cli/dist/', import.meta.url));
const COMMAND = [BINARY, 'eval', '-e', 'return 1+1'];
const PRELOAD = fileURLToPath(new URL('../children/report-peak-memory.cjs', import.meta.url));

const TIME = {
  name: 'cli-process',
  title: '`toolscript eval -e "return 1+1"`, the whole process',
  unit: 'ms',
  better: 'lower',
  limit: 250,
};
const MEMORY = {
  name: 'cli-memory',
  title: 'the most resident memory of that process',
  unit: 'MB',
  better: 'lower',
  limit: 120,
};

export const name = 'cli';

/** The command line as a user starts it. */
export async function measure({ effort }) {
  if (!existsSync(BINARY) || !existsSync(BUILT))
    return [TIME, MEMORY].map((row) => absentRow(row, 'packages/cli is not built'));
  const time = await alternate(
    TIME,
    [
      { name: 'toolscript', role: 'ours', block: async () => [(await evaluate()).wallMs] },
      { name: 'node -e 0', role: 'baseline', block: async () => [(await runNode(['-e', '0'])).wallMs] },
    ],
    effort.coldRounds,
  );
  const memory = await alternate(
    MEMORY,
    [
      { name: 'toolscript', role: 'ours', block: async () => [await peakMegabytes(COMMAND)] },
      { name: 'node -e 0', role: 'baseline', block: async () => [await peakMegabytes(['-e', '0'])] },
    ],
    Math.min(5, effort.coldRounds),
  );
  return [time, memory];
}

async function evaluate() {
  const result = await runNode(COMMAND);
  assert.ok(result.stdout.split('\n').includes('2'), `the command did not print the answer: ${result.stdout}`);
  return result;
}

async function peakMegabytes(args) {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-bench-'));
  try {
    const file = join(folder, 'peak');
    await runNode(['--require', PRELOAD, ...args], { TOOLSCRIPT_BENCH_PEAK: file });
    return Number(readFileSync(file, 'utf8')) / 1_024;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkExecSandbox, createWorkspace, execTool } from '@toolscript/tools';
import { absentRow, alternate, timeRuns } from '../measure.mjs';

const ROW = {
  name: 'exec',
  title: 'the program `true` through exec, sandboxed',
  unit: 'ms',
  better: 'lower',
  limit: 60,
  notes: ['bare: the same tool without the sandbox; spawn: the program alone, from Node'],
};
const COMMAND = { command: ['true'], timeoutMs: 10_000 };

export const name = 'exec';

/** The cost of the OS sandbox for a command, after its setup. */
export async function measure({ effort }) {
  const refusal = await checkExecSandbox();
  if (refusal !== undefined) return [absentRow(ROW, refusal.reason)];
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-bench-exec-'));
  try {
    const workspace = createWorkspace({ roots: folder });
    const entries = [
      { name: 'toolscript', role: 'ours', run: statusOf(execTool(workspace)) },
      { name: 'bare', role: 'part', run: statusOf(execTool(workspace, { sandbox: 'off' })) },
      { name: 'spawn', role: 'baseline', run: spawned },
    ];
    for (const { run } of entries) assert.equal(await run(), 0, 'the command failed');
    const timed = entries.map(({ run, ...entry }) => ({
      ...entry,
      block: () => timeRuns(run, 0, { forMs: effort.blockMs }),
    }));
    return [await alternate(ROW, timed, effort.rounds)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function statusOf(tool) {
  return async () => (await tool.execute(COMMAND, {})).exitCode;
}

async function spawned() {
  const [status] = await once(spawn('true', { stdio: 'ignore' }), 'exit');
  return status;
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHarness, type Harness } from '@toolscript/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { execTool } from '#tools/exec/exec.js';
import { createWorkspace } from '#tools/files/workspace.js';
import { newFolder } from '@toolscript/testkit/folder';
import { until } from '@toolscript/testkit/until';

let folder: string;
let harness: Harness;

beforeAll(() => {
  folder = newFolder({});
  harness = createHarness({
    tools: [execTool(createWorkspace({ roots: folder }), { sandbox: 'off' })],
    expose: { spawn: true },
    approvals: 'auto',
  });
});

afterAll(() => harness.close());

async function run(source: string): Promise<unknown> {
  const outcome = await harness.runScript(source);
  if (outcome.status !== 'completed') expect.fail(JSON.stringify(outcome));
  return outcome.value;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

describe('a command in the background', () => {
  it('is found, read and cancelled by later scripts, which ends its process', async () => {
    const command = ['sh', '-c', 'echo $$ > pid; for i in 1 2 3 4 5 6 7 8 9; do echo line $i; sleep 1; done'];
    const id = await run(`return tools.spawn.exec("exec", { command: ${JSON.stringify(command)} }).id`);
    const listed = await run('return await tools.spawn.list()');
    expect(listed).toMatchObject([{ id, tool: 'exec', status: 'running' }]);
    const partial = `const [{ id }] = await tools.spawn.list();
      for (;;) {
        const report = await tools.spawn.read(id);
        if (report.output.split("\\n").length > 2) return report;
        await sleep(20);
      }`;
    expect(await run(partial)).toMatchObject({
      id,
      status: 'running',
      input: { command },
      output: expect.stringMatching(/^(?:line \d\n){2}$/u) as unknown,
    });
    const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
    expect(isAlive(pid)).toBe(true);
    const ended =
      'const [{ id }] = await tools.spawn.list(); return [await tools.spawn.cancel(id), await tools.spawn.wait(id)]';
    expect(await run(ended)).toMatchObject([true, { status: 'cancelled', error: { code: 'ToolExecutionError' } }]);
    await until(() => !isAlive(pid));
  });

  it('is read completely up to now, including fast output and stderr', async () => {
    const command = ['sh', '-c', 'seq 1 500; echo oops >&2; sleep 30'];
    const id = await run(`return tools.spawn.exec("exec", { command: ${JSON.stringify(command)} }).id`);
    const output = await run(`for (;;) {
      const { output } = await tools.spawn.read(${JSON.stringify(id)});
      if (output.includes('oops')) { await tools.spawn.cancel(${JSON.stringify(id)}); return output; }
      await sleep(20);
    }`);
    const numbers = Array.from({ length: 500 }, (_, index) => `${index + 1}\n`).join('');
    expect(output).toHaveLength(numbers.length + 'oops\n'.length);
    expect((output as string).replace('oops\n', '')).toBe(numbers);
  });

  it('gives its result to a later script', async () => {
    const id = await run('return tools.spawn.exec("exec", { command: ["sh", "-c", "sleep 0.2; echo done"] }).id');
    expect(await run(`return await tools.spawn.wait(${JSON.stringify(id)})`)).toMatchObject({
      status: 'completed',
      result: { exitCode: 0, stdout: 'done\n' },
    });
  });
});

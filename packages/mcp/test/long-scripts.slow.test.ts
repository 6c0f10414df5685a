import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, it, onTestFinished } from 'vitest';
import { newFolder } from '@toolscript/testkit/folder';

async function open(folder: string) {
  const fixture = join(import.meta.dirname, 'fixtures/long-gateway.mjs');
  const transport = new StdioClientTransport({ command: process.execPath, args: [fixture, folder] });
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(transport);
  onTestFinished(() => client.close());
  const call = async (name: string, input: object) =>
    (await client.callTool({ name, arguments: { ...input } })).structuredContent as {
      status: string;
      scriptId: string;
      operations: { tool: string; status: string }[];
    };
  return { call, pid: transport.pid! };
}

it('a script whose gateway was killed continues in the next gateway that is asked, and repeats no effect', async () => {
  const folder = newFolder();
  const killed = await open(folder);
  const { scriptId, status } = await killed.call('run_script', {
    code: 'await tools.mark(); return await tools.hold()',
  });
  expect(status).toBe('running');
  const made = async () => (await killed.call('wait_script', { scriptId })).operations.map(({ tool }) => tool);
  await expect.poll(made).toEqual(['mark', 'hold']);
  process.kill(killed.pid, 'SIGKILL');
  const next = await open(folder);
  expect(await next.call('wait_script', { scriptId })).toMatchObject({ status: 'running', scriptId });
  writeFileSync(join(folder, 'released'), '');
  const wait = async (from = next) => from.call('wait_script', { scriptId });
  await expect.poll(wait, { timeout: 30_000 }).toMatchObject({ status: 'completed', value: 'released' });
  // A third process reads the same end from the store, and a cancellation changes nothing.
  const third = await open(folder);
  const end = await wait(third);
  expect(end).toMatchObject({ status: 'completed', value: 'released' });
  expect(await third.call('cancel_script', { scriptId })).toEqual(end);
  expect(readFileSync(join(folder, 'marks'), 'utf8')).toBe(`${killed.pid}\n`);
});

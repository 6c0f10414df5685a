import { join } from 'node:path';
import { foldResponse } from '@toolscript/core/history';
import { newFolder } from '@toolscript/testkit/folder';
import { until } from '@toolscript/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';
import { effectsIn, oneScriptAgent } from '../support/one-script-agent.js';
import { openTestServer } from '../support/test-server.js';

const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** A server with a run whose script waits for two approvals. */
async function openWaiting() {
  const effects = join(newFolder(), 'effects');
  const agents: ReturnType<typeof oneScriptAgent>[] = [];
  const server = await openTestServer({ agents: (parts) => [(agents[0] = oneScriptAgent(parts, effects))] });
  closers.push(() => server.close());
  const prompt = `await tools.mark({ tag: 'a' }); return Promise.all([tools.note({ tag: 'b' }), tools.note({ tag: 'c' })]);`;
  const { body } = await server.call('POST', '/api/v2/submit', { prompt, agentId: 'one-script' });
  const { runId } = body as { runId: string };
  const run = async () => (await server.call('GET', `/api/v2/runs/${runId}`)).body as { status: string };
  const approvals = async () =>
    (await server.call('GET', `/api/v2/approvals?state=all&runId=${runId}`)).body.data as {
      approvalId: string;
      scriptId: string;
      state: string;
    }[];
  await until(async () => (await run()).status === 'suspended');
  const waiting = await approvals();
  const { scriptId } = waiting[0]!;
  const { harness } = await agents[0]!.open({});
  const cancel = () => server.call('POST', `/api/v2/scripts/${scriptId}/cancel`);
  return { server, harness, runId, scriptId, waiting, run, approvals, cancel, effects: () => effectsIn(effects) };
}

describe('the cancellation of a script that waits for approvals', () => {
  it('continues its run: the model reads that the script was cancelled, and no waiting call happens', async () => {
    const { server, runId, waiting, run, approvals, cancel, effects } = await openWaiting();
    expect(waiting).toHaveLength(2);
    expect((await cancel()).body).toMatchObject({ status: 'failed', error: { code: 'ScriptCancelledError' } });
    await until(async () => (await run()).status === 'completed');
    const outputs = foldResponse(await server.follow(runId)).output_items.filter(
      ({ type }) => type === 'script_execution_output',
    );
    expect(outputs).toMatchObject([
      {
        status: 'failed',
        error: { code: 'ScriptCancelledError' },
        operations: [{ tool: 'mark', status: 'completed' }],
      },
    ]);
    expect((await approvals()).map(({ state }) => state)).toEqual(['denied', 'denied']);
    const late = await server.call('POST', `/api/v2/approvals/${waiting[0]!.approvalId}`, 'approve');
    expect([late.status, effects()]).toEqual([409, ['a']]);
  });

  it('also continues the run of a script that another process has cancelled', async () => {
    const { harness, scriptId, run, cancel, effects } = await openWaiting();
    const { error } = await harness.cancelScript(scriptId);
    expect(error?.code).toBe('ScriptCancelledError');
    expect((await cancel()).body).toMatchObject({ error: { code: 'ScriptCancelledError' } });
    await until(async () => (await run()).status === 'completed');
    expect(effects()).toEqual(['a']);
  });

  it('leaves the end to a user who decides after another process has cancelled the script', async () => {
    const { server, harness, scriptId, waiting, run, effects } = await openWaiting();
    await harness.cancelScript(scriptId);
    for (const { approvalId } of waiting) await server.call('POST', `/api/v2/approvals/${approvalId}`, 'approve');
    await until(async () => (await run()).status === 'completed');
    expect(effects()).toEqual(['a']);
  });
});

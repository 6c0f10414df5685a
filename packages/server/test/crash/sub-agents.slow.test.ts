import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EventPayload, StreamEvent } from '@toolscript/core/protocol';
import { foldResponse } from '@toolscript/core/history';
import { describe, expect, it } from 'vitest';
import { startServer, type ServerProcess } from './support/server-process.js';
import { until } from '@toolscript/testkit/until';
import { newFolder } from '@toolscript/testkit/folder';

/** A task, as the model of the server reads it: the scripts that it runs. */
const task = (code: string) => JSON.stringify({ steps: [{ type: 'script', code }] });

const leaf = (n: number) =>
  task(
    `await tools.mark({ tag: 'before ${n}' }); await tools.wait({ tag: 'w' }); return tools.mark({ tag: 'after ${n}' });`,
  );

const launching = (tasks: readonly string[]) =>
  `const all = await Promise.all([${tasks.map((one) => `tools.agents.launch.sync({ task: ${JSON.stringify(one)} })`).join()}]);
   return all.map(({ status }) => status);`;

const TREE = task(launching([task(launching([1, 2, 3].map(leaf)))]));

async function submit({ client }: ServerProcess, prompt: string): Promise<string> {
  const answer = await client!.call('POST', '/api/v2/submit', { prompt, agentId: 'leader' });
  expect(answer.status).toBe(202);
  return answer.body.runId;
}

function effectsIn(folder: string): string[] {
  const path = join(folder, 'effects');
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.slice(line.indexOf(' ') + 1));
}

/** The number of scripts in the store that have got a result. A call without one is of unknown outcome after a kill. */
function answeredScripts(folder: string): number {
  const journals = join(folder, 'scripts/journal');
  if (!existsSync(journals)) return 0;
  const texts = readdirSync(journals).map((name) => readFileSync(join(journals, name), 'utf8'));
  return texts.filter((text) => text.includes('"t":"delivered"')).length;
}

/** All payloads of a run and its sub-agents. */
function all(events: readonly StreamEvent[]): EventPayload[] {
  const unfold = (payload: EventPayload): EventPayload[] =>
    payload.type === 'agent_event' ? unfold(payload.event as EventPayload) : [payload];
  return events.flatMap(({ payload }) => unfold(payload));
}

const EFFECTS = [1, 2, 3].flatMap((n) => [`before ${n}`, `after ${n}`]).toSorted();

describe('a server with three sub-agents at depth 2', () => {
  it.each([
    ['is killed', 'SIGKILL'],
    ['ends', 'SIGTERM'],
  ] as const)('that %s: the next server continues each of them, and each effect happens once', async (_, signal) => {
    const folder = newFolder();
    const first = await startServer(folder, { drainMs: 100 });
    const runId = await submit(first, TREE);
    await until(() => answeredScripts(folder) === 3);
    expect(effectsIn(folder)).toHaveLength(3);
    first.child.kill(signal);
    expect(await first.ended, first.log()).toBe(signal === 'SIGKILL' ? 'SIGKILL' : null);
    const second = await startServer(folder);
    writeFileSync(join(folder, 'go'), '');
    const events = await second.client!.follow(runId);
    const payloads = all(events);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index));
    expect(effectsIn(folder).toSorted()).toEqual(EFFECTS);
    const started = payloads.flatMap((payload) => (payload.type === 'agent_start' ? [payload] : []));
    expect(started.map(({ depth }) => depth).toSorted((one, other) => one - other)).toEqual([1, 2, 2, 2]);
    const ends = payloads.flatMap((payload) => (payload.type === 'response_done' ? [payload.status] : []));
    expect(ends).toEqual(['completed', 'completed', 'completed', 'completed', 'completed']);
    const output = foldResponse(events).output_items.find(({ type }) => type === 'script_execution_output');
    expect(output).toMatchObject({ output_json: '["completed"]' });
  });

  it('stops all of them when its run is cancelled', async () => {
    const folder = newFolder();
    const server = await startServer(folder);
    const runId = await submit(server, TREE);
    await until(() => effectsIn(folder).length === 3);
    await server.client!.call('POST', `/api/v2/runs/${runId}/cancel`);
    const events = await server.client!.follow(runId);
    const ends = all(events).flatMap((payload) => (payload.type === 'response_done' ? [payload.status] : []));
    expect(ends).toEqual(['cancelled', 'cancelled', 'cancelled', 'cancelled', 'cancelled']);
    expect(effectsIn(folder)).toHaveLength(3);
  });

  it('that need approvals suspend their run, and the next server continues them after the decisions', async () => {
    const folder = newFolder();
    const first = await startServer(folder);
    const notes = [1, 2].map((n) => task(`return tools.note({ tag: 'note ${n}' });`));
    const runId = await submit(first, task(launching([task(launching(notes))])));
    const pending = () => approvalsOf(first, runId);
    const approvals = await until(async () => ((await pending()).length === 2 ? pending() : undefined));
    expect(approvals.map(({ tool, agents }) => [tool, agents])).toEqual([
      ['note', ['leader', 'leader']],
      ['note', ['leader', 'leader']],
    ]);
    first.child.kill('SIGKILL');
    await first.ended;
    const second = await startServer(folder);
    for (const [index, { approvalId }] of approvals.entries()) {
      const decision = index === 0 ? 'approve' : 'deny';
      const answer = await second.client!.call('POST', `/api/v2/approvals/${approvalId}`, { decision });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    }
    const events = await second.client!.follow(runId);
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
    expect(effectsIn(folder)).toHaveLength(1);
    const started = all(events).filter(({ type }) => type === 'agent_start');
    expect(started).toHaveLength(3);
  });
});

async function approvalsOf({ client }: ServerProcess, runId: string) {
  const { body } = await client!.call('GET', `/api/v2/approvals?runId=${runId}`);
  return body.data as { approvalId: string; tool: string; agents?: string[] }[];
}

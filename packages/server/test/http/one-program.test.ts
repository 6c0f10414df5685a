import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '@toolscript/testkit/until';
import { oneScriptAgent } from '../support/one-script-agent.js';
import { openTestServer, type TestServer } from '../support/test-server.js';

let server: TestServer;

beforeAll(async () => {
  const effects = join(mkdtempSync(join(tmpdir(), 'one-program-')), 'effects');
  const own = { slug: 'program', runtime: 'quickjs', scripts: 'one-program' } as const;
  server = await openTestServer({
    agents: (parts) => [
      oneScriptAgent({ ...parts, ...own }, effects),
      oneScriptAgent({ ...parts, slug: 'separate' }, effects),
    ],
  });
});

afterAll(() => server.close());

interface Submitted {
  readonly runId: string;
  readonly threadId: string;
  readonly turnId: string;
}

/** Runs the prompt, which is a script, and returns its ids and the value of its script. */
async function run(prompt: string, more: object = {}): Promise<Submitted & { value: unknown }> {
  const { status, body } = await server.call('POST', '/api/v2/submit', { prompt, agentId: 'program', ...more });
  expect(status, JSON.stringify(body)).toBe(202);
  const events = await server.follow(body.runId, { isLast: ({ payload }) => payload.type === 'response_done' });
  const outputs = events.flatMap(({ payload }) =>
    payload.type === 'item_done' && payload.final_item.type === 'script_execution_output' ? [payload.final_item] : [],
  );
  return { ...body, value: outputs.at(-1)?.error?.code ?? outputs.at(-1)?.result };
}

const thread = async (threadId: string) => (await server.call('GET', `/api/v2/threads/${threadId}`)).body;

describe('a thread whose scripts are one program', () => {
  it('continues with its variables, and shows their names and types', async () => {
    const { threadId } = await run('let n = 1;\nfunction next() { return n + 1 }\nreturn n');
    expect((await run('n = next(); return n', { threadId })).value).toBe(2);
    expect(await thread(threadId)).toMatchObject({
      scripts: 'one-program',
      scope: [{ name: 'n' }, { name: 'next' }],
    });
  });

  it('has branches that begin with the variables of their last turn', async () => {
    const { threadId } = await run('let n = 1;\nreturn n');
    const second = await run('n = 10; return n', { threadId });
    const branch = await run('n += 1; return n', { threadId, branchBefore: second.turnId });
    expect(branch.value).toBe(2);
    expect((await run('return n', { threadId })).value).toBe(10);
    expect((await run('return n', { threadId: branch.threadId })).value).toBe(2);
    await server.call('DELETE', `/api/v2/threads/${threadId}`);
    expect((await run('return n', { threadId: branch.threadId })).value).toBe(2);
  });

  it('leaves its variables to the branches that name them, also those without a script of their own', async () => {
    const { threadId, turnId } = await run('let n = 1;\nreturn n');
    await run('n = 10; return n', { threadId });
    const branchOf = { threadId, turnId, withTurn: true };
    const draft = { principal: (await server.stores.threads.get(threadId))!.principal, branchOf };
    const first = await server.stores.threads.create(draft);
    const [copy] = (await server.stores.threads.readItems(first.threadId)).turns;
    const ofFirst = { ...branchOf, threadId: first.threadId, turnId: copy!.turnId };
    const second = await server.stores.threads.create({ ...draft, branchOf: ofFirst });
    await server.call('DELETE', `/api/v2/threads/${threadId}`);
    await server.call('DELETE', `/api/v2/threads/${first.threadId}`);
    await server.scripts.heaps!.collect({ before: Number.MAX_SAFE_INTEGER });
    expect((await run('n += 1; return n', { threadId: second.threadId })).value).toBe(2);
  });

  it('keeps its variables over a decision', async () => {
    const { threadId, runId } = await run('let n = 1;\nawait tools.note({ tag: "a" });\nn += 1; return n');
    const { data } = (await server.call('GET', '/api/v2/approvals')).body;
    const { approvalId } = data.find((each: { runId: string }) => each.runId === runId);
    await server.call('POST', `/api/v2/approvals/${approvalId}`, { decision: 'approve' });
    await until(async () =>
      (await server.call('GET', `/api/v2/runs/${runId}`)).body.status === 'completed' ? true : undefined,
    );
    expect((await run('return n', { threadId })).value).toBe(2);
  });

  it('shows no value of a variable, and is deleted with its heaps', async () => {
    const { threadId, runId } = await run('const hidden = ["cana", "ry-7"].join("");\nreturn hidden.length');
    const reads = ['threads', `threads/${threadId}?operations=full`, `runs/${runId}`, 'approvals', 'audit', 'scripts'];
    for (const path of reads)
      expect(JSON.stringify(await server.call('GET', `/api/v2/${path}`)), path).not.toContain('canary-7');
    const folder = join(server.folder, 'scripts', 'heaps');
    const states = () =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.parentPath.endsWith('states'))
        .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'));
    const own = states().filter((text) => text.includes(threadId));
    expect(own).toHaveLength(1);
    expect(own[0]).not.toContain('hidden');
    await server.call('DELETE', `/api/v2/threads/${threadId}`);
    expect(states().filter((text) => text.includes(threadId))).toEqual([]);
  });
});

describe('a thread of another agent', () => {
  it('has separate scripts, and no scope', async () => {
    const { threadId } = await run('let n = 1;\nreturn n', { agentId: 'separate' });
    expect((await run('return typeof n', { threadId, agentId: 'separate' })).value).toBe('undefined');
    const { scripts, scope } = await thread(threadId);
    expect([scripts, scope]).toEqual(['separate', undefined]);
  });
});

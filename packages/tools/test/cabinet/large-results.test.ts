import {
  createHarness,
  defineTool,
  listScripts,
  memoryStore,
  type HarnessOptions,
  type Outcome,
} from '@toolscript/core';
import { fileAnnouncement } from '@toolscript/core/agent';
import type { DocumentStore } from '@toolscript/core/protocol';
import { memoryDocuments } from '@toolscript/service/stores';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { cabinetTools } from '@toolscript/tools';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

const ROWS = 20_000;
const CLEAN = { userTexts: [], hasReadUntrusted: false };
const rowsOf = (count: number) => Array.from({ length: count }, (_, id) => ({ id, city: `city ${id} `.repeat(8) }));
const Row = z.object({ id: z.number(), city: z.string() });

const read = (name: string, output: z.ZodType | undefined, execute: () => unknown, trust?: 'untrusted') =>
  defineTool({ name, description: name, output, effect: 'read', approval: 'never', trust, execute: execute as never });

const TOOLS = [
  read('query', z.array(Row), () => rowsOf(ROWS)),
  read('report', z.object({ total: z.number(), rows: z.array(Row) }), () => ({ total: ROWS, rows: rowsOf(ROWS) })),
  read('page', z.string(), () => 'æøå 🙂'.repeat(300_000)),
  read('bare', undefined, () => ({ content: [{ type: 'text', text: 'x'.repeat(2_000_000) }] })),
  read('whole', z.object({}).loose(), () => Object.fromEntries(rowsOf(ROWS).map(({ id, city }) => [`row${id}`, city]))),
  read('strange', z.array(Row), () => rowsOf(ROWS), 'untrusted'),
  defineTool({ name: 'ask', description: 'ask', approval: 'always', execute: () => 'yes' }),
];

function open(options: Partial<HarnessOptions> & { documents?: DocumentStore } = {}) {
  const documents = options.documents ?? memoryDocuments();
  const harness = createHarness({
    ...sharedThreads(),
    approvals: ({ tool }) => (tool === 'ask' ? 'suspend' : 'approve'),
    scripts: 'one-program',
    limits: { computeMs: 60_000, timeoutMs: 120_000 },
    ...options,
    tools: [...TOOLS, ...cabinetTools({ documents }), ...(options.tools ?? [])],
    documents,
  });
  onTestFinished(() => harness.close());
  let heap: string | undefined;
  const run = async (source: string): Promise<Outcome> => {
    const outcome = await harness.runScript(source, { heap, threadId: 'thr_1', principal: 'ada', origin: CLEAN });
    heap = outcome.heap ?? heap;
    return outcome;
  };
  return { harness, documents, run, heapOf: () => heap };
}

const valueOf = (outcome: Outcome): unknown => {
  expect(outcome.status, JSON.stringify(outcome.error)).toBe('completed');
  return (outcome as { value?: unknown }).value;
};

const readAll = (call: string) =>
  `const { handle } = await ${call}.catch((error) => error);
   let rows = 0, last; for await (const row of handle) { rows += 1; last = row }`;

describe('a result that is too large for a script', () => {
  it('is read in the same script by the handle of its error, row by row and page by page', async () => {
    const { run } = open();
    const seen = await run(`${readAll('tools.query()')}
      const first = await handle.page(0);
      return { rows, last: last.id, all: handle.rows, pages: handle.pages, isList: Array.isArray(first), first: first[0].id, bytes: handle.bytes > 1_000_000 }`);
    const { pages, ...rest } = valueOf(seen) as { pages: number };
    expect(rest).toEqual({ rows: ROWS, last: ROWS - 1, all: ROWS, isList: true, first: 0, bytes: true });
    expect(pages).toBeGreaterThan(1);
    const counts = seen.operations.map(({ tool, status, resultOmitted }) => [tool, status, resultOmitted]);
    expect(counts[0]).toEqual(['query', 'completed', true]);
    expect(counts.slice(1)).toEqual(Array.from({ length: pages + 1 }, () => ['$page', 'completed', undefined]));
  });

  it('may have its rows in a member, or be a text: each page is a result with a part of them', async () => {
    const { run } = open();
    const report = await run(`${readAll('tools.report()')} const page = await handle.page(1);
      return [rows, last.id, page.total, page.rows.length < rows]`);
    expect(valueOf(report)).toEqual([ROWS, ROWS - 1, ROWS, true]);
    const text = await run(`const { handle } = await tools.page().catch((error) => error); let text = '';
      for await (const part of handle) text += part; return text === 'æøå 🙂'.repeat(300_000)`);
    expect(valueOf(text)).toBe(true);
    const nested = await run(`const { handle } = await tools.bare().catch((error) => error); let units = 0;
      for await (const part of handle) units += part.length;
      return [units, (await handle.page(0)).content[0].type]`);
    expect(valueOf(nested)).toEqual([2_000_000, 'text']);
  });

  it('with a text that not everybody may read is not kept: files have no readers', async () => {
    const own = { readers: ['amy'] };
    const cases = defineTool({
      name: 'cases',
      description: 'cases',
      output: z.array(Row),
      effect: 'read',
      execute: () => rowsOf(ROWS),
      labels: () => [{ path: '', trust: 'trusted', ...own }],
    });
    const note = defineTool({
      name: 'note',
      description: 'note',
      output: z.object({ text: z.string() }),
      effect: 'read',
      execute: () => ({ text: 'a case' }),
      labels: () => [{ path: 'text', trust: 'trusted', ...own }],
    });
    const echo = defineTool({
      name: 'echo',
      description: 'echo',
      input: z.object({ text: z.string() }),
      output: z.array(Row),
      effect: 'read',
      execute: () => rowsOf(ROWS),
    });
    const { run, documents } = open({ tools: [cases, note, echo], flow: () => 'allow' });
    for (const call of ['tools.cases()', 'tools.echo({ text: (await tools.note()).text })']) {
      const end = await run(`return await ${call}.catch((error) => [error.message, error.handle === undefined])`);
      expect(valueOf(end), call).toEqual([expect.stringContaining('request less'), true]);
    }
    expect(await documents.list({ scope: { kind: 'thread', id: 'thr_1' }, kind: 'file' })).toEqual({ documents: [] });
  });

  it('without rows is left out as before, and no file stays', async () => {
    const { run, documents } = open();
    const end = await run(`return await tools.whole().catch((error) => [error.message, error.handle === undefined])`);
    expect(valueOf(end)).toEqual([expect.stringContaining('bytes of JSON, and at most'), true]);
    const scope = { kind: 'thread', id: 'thr_1' } as const;
    expect(await documents.list({ scope, kind: 'file' })).toEqual({ documents: [] });
  });

  it('is a variable of the next script, with the types of its schema', async () => {
    const { run } = open();
    const failed = await run(`const rows = await tools.query(); return rows.length`);
    expect(failed.error?.message).toContain(`${ROWS} rows`);
    expect(failed.error?.message).toContain('"id":0');
    const row = '{ id: number; city: string; }';
    expect(failed.scope).toContainEqual({ name: 'result1', type: expect.stringContaining('LargeResult<') as string });
    expect(failed.scope?.[0]?.type.replaceAll(/\s+/gu, ' ')).toContain(row.slice(2, 12));
    const sum = `let sum = 0; for await (const { id } of result1) sum += id; return sum`;
    expect(valueOf(await run(sum))).toBe((ROWS * (ROWS - 1)) / 2);
    const wrong = await run(`for await (const { cty } of result1) text(cty)`);
    expect(wrong.error?.message).toContain("Property 'cty' does not exist");
    const wrongPage = await run(`return (await result1.page(0))[0].cty`);
    expect(wrongPage.error?.message).toContain("Property 'cty' does not exist");
    expect(valueOf(await run(`return result1`))).toMatchObject({ rows: ROWS });
  });

  it('is shown in the File Cabinet, where any script can read its pages, and is announced once', async () => {
    const { run, documents } = open({ scripts: 'separate' });
    const key = valueOf(await run(`return (await tools.query().catch((error) => error)).handle.key`)) as string;
    const read = await run(`const { text } = await tools.fetchFromFC({ fileKey: '${key}/1', maxLength: 1_000_000 });
      return JSON.parse(text)[0].id > 0`);
    expect(valueOf(read)).toBe(true);
    const announced = JSON.stringify(await fileAnnouncement(documents, 'thr_1', []));
    expect(announced).toContain(`${key}/0`);
    expect(announced).not.toContain(`${key}/1`);
  });

  it('keeps the label of its call', async () => {
    const sent: string[] = [];
    const send = defineTool({
      name: 'send',
      description: 'Sends a mail.',
      input: z.object({ to: z.string() }),
      approval: 'never',
      flow: { trusted: ['to'] },
      execute: ({ to }) => void sent.push(to),
    });
    const decisions = { tools: [send], approvals: () => 'suspend' as const };
    const mail = `await tools.send({ to: page[7].city.trim() })`;
    const inOne = (tool: string) =>
      open({ ...decisions, scripts: 'separate' }).run(
        `const { handle } = await tools.${tool}().catch((error) => error); const page = await handle.page(0); ${mail}`,
      );
    const inTwo = async (tool: string) => {
      const { run } = open(decisions);
      await run(`await tools.${tool}()`);
      return run(`const page = await result1.page(0); ${mail}`);
    };
    expect([(await inOne('strange')).status, (await inTwo('strange')).status]).toEqual(['suspended', 'suspended']);
    expect([(await inOne('query')).status, (await inTwo('query')).status]).toEqual(['completed', 'completed']);
    expect(sent).toHaveLength(2);
  });

  it('survives a suspension, and a handle in a script that another process continues', async () => {
    const store = memoryStore();
    const documents = memoryDocuments();
    const options = { store, documents, suspensionKey: 'k'.repeat(32) };
    const source = `const { handle } = await tools.query().catch((error) => error); const first = await handle.page(0);
      await tools.ask(); let rows = 0; for await (const row of handle) rows += 1; return [first.length > 0, rows]`;
    const before = await open(options).run(source);
    expect(before.status).toBe('suspended');
    const { harness } = open(options);
    const { approvalId } = before.pendingApprovals![0]!;
    const after = await harness.resume(before.suspension!, { [approvalId]: 'approve' }, { principal: 'ada' });
    expect(valueOf(after)).toEqual([true, ROWS]);
    expect(after.heap).toBeDefined();
  });

  it('is the same after the process has ended: neither the tool nor a page that was read is called again', async () => {
    const store = memoryStore();
    const documents = memoryDocuments();
    let hasReached: () => void;
    const reached = new Promise<void>((resolve) => (hasReached = resolve));
    const wait = (execute: () => unknown) =>
      defineTool({ name: 'wait', description: 'Waits.', idempotent: true, approval: 'never', execute });
    const hanging = wait(() => {
      hasReached();
      return new Promise(() => {});
    });
    const options = { store, documents, suspensionKey: 'k'.repeat(32) };
    const source = `${readAll('tools.query()')} await tools.wait(); const page = await handle.page(0);
      return [rows, last.id, page[0].id]`;
    void open({ ...options, tools: [hanging] }).run(source);
    await reached;
    const [{ scriptId } = { scriptId: '' }] = await listScripts(store);
    const next = open({ ...options, tools: [wait(() => 1)] });
    const after = await next.harness.recover(scriptId, { principal: 'ada', force: true });
    expect(valueOf(after)).toEqual([ROWS, ROWS - 1, 0]);
    const scope = { kind: 'thread', id: 'thr_1' } as const;
    const kept = (await documents.list({ scope, kind: 'file' })).documents;
    expect(after.operations.filter(({ tool }) => tool === '$page')).toHaveLength(kept.length + 1);
    expect(new Set(kept.map(({ name }) => name.split('/')[0])).size).toBe(1);
  });

  it('is refused in one sentence if the store has no room, and the pages so far are deleted', async () => {
    const documents = memoryDocuments({ limits: { totalBytes: 900_000 } });
    const { run } = open({ documents });
    const end = await run(`return (await tools.query().catch((error) => error)).message`);
    expect(valueOf(end)).toMatch(/could not be kept: .*bytes/u);
    const scope = { kind: 'thread', id: 'thr_1' } as const;
    expect(await documents.list({ scope, kind: 'file' })).toEqual({ documents: [] });
  });

  it('whose pages were deleted or replaced is not read', async () => {
    const { run } = open();
    const key = valueOf(await run(`return (await tools.query().catch((error) => error)).handle.key`)) as string;
    await run(
      `await tools.deleteFromFC({ fileKey: '${key}/0' }); await tools.saveToFC({ name: '${key}/0', text: '[1]' })`,
    );
    const gone = await run(`return await result1.page(0).catch((error) => error.message)`);
    expect(valueOf(gone)).toContain('no longer stored');
    const far = await run(`return await result1.page(1e6).catch((error) => error.message)`);
    expect(valueOf(far)).toContain('no longer stored');
    const odd = await run(`return await result1.page(-1).catch((error) => error.message)`);
    expect(valueOf(odd)).toContain('number of a page');
  });

  it('of another conversation is not read by its handle', async () => {
    const { run, harness, heapOf } = open();
    await run(`return await tools.query()`);
    const source = `return await result1.page(0).catch((error) => error.message)`;
    const other = await harness.runScript(source, { heap: heapOf(), threadId: 'thr_2', principal: 'ada' });
    expect(valueOf(other)).toContain('no longer stored');
  });
});

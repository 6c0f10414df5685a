import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createHarness,
  memoryStore,
  type ApprovalRequest,
  type HarnessOptions,
  type RunScriptOptions,
} from '@toolscript/core';
import { extendHistory, fileAnnouncement, runAgent } from '@toolscript/core/agent';
import { scriptedModel } from '@toolscript/core/providers';
import { filePlace } from '@toolscript/core/internal';
import type { DocumentStore, StreamEvent, ToolCallContext } from '@toolscript/core/protocol';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cabinetTools, codingTools, documentText, promptTools, snippetTools, webTools } from '@toolscript/tools';
import { serve } from '../web/support.js';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { memoryDocuments } from '@toolscript/service/stores';
import { newFolder } from '@toolscript/testkit/folder';

const THREAD = 'thr_1';

interface Opened {
  readonly documents: DocumentStore;
  readonly folder: string;
  /** The value of a script, or its error as a throw. */
  run(code: string, options?: RunScriptOptions): Promise<any>;
  readonly harness: ReturnType<typeof createHarness>;
}

function open({
  documents = memoryDocuments(),
  allow = [],
  ...options
}: Partial<HarnessOptions> & { documents?: DocumentStore; allow?: string[] } = {}): Opened {
  const folder = newFolder({});
  const harness = createHarness({
    ...sharedThreads(),
    approvals: 'auto',
    ...options,
    tools: [
      ...cabinetTools({ documents }),
      ...codingTools({ roots: folder, exec: false, documents }),
      ...webTools({ documents, allow }),
    ],
  });
  onTestFinished(() => harness.close());
  const run = async (code: string, given: RunScriptOptions = {}) => {
    const outcome = await harness.runScript(code, { threadId: THREAD, principal: 'ada', ...given });
    if (outcome.status !== 'completed')
      throw new Error(outcome.status === 'failed' ? outcome.error.message : outcome.status);
    return outcome.value;
  };
  return { documents, folder, run, harness };
}

describe('a file of the cabinet', () => {
  it('is saved in versions and read whole, in parts and by version', async () => {
    const { run } = open();
    const saved = await run(
      `return await tools.saveToFC({ name: 'notes/plan.md', text: 'héllo 😀 you', title: 'Plan' });`,
    );
    expect(saved).toEqual({ fileKey: 'notes/plan.md', version: 1, bytes: 15, tokens: expect.any(Number) });
    await run(`return await tools.saveToFC({ name: 'notes/plan.md', text: 'two' });`);
    const [newest, first, part, rest] = await run(`return [
      await tools.fetchFromFC({ fileKey: 'notes/plan.md' }),
      await tools.fetchFromFC({ fileKey: 'notes/plan.md', version: 1 }),
      await tools.fetchFromFC({ fileKey: 'notes/plan.md', version: 1, maxLength: 7 }),
      await tools.fetchFromFC({ fileKey: 'notes/plan.md', version: 1, offset: 8 }),
    ];`);
    expect(newest).toMatchObject({ version: 2, text: 'two' });
    expect(first).toMatchObject({ title: 'Plan', text: 'héllo 😀 you', length: 12, bytes: 15 });
    expect(part).toMatchObject({ text: 'héllo 😀', nextOffset: 8 });
    expect(rest.text).toBe(' you');
    const { files } = await run(`return await tools.listFC({ prefix: 'notes/' });`);
    expect(files).toEqual([{ fileKey: 'notes/plan.md', version: 2, bytes: 3, savedAt: expect.any(String) }]);
    expect(await run(`return await tools.deleteFromFC({ fileKey: 'notes/plan.md' });`)).toEqual({ deleted: true });
    expect((await run(`return await tools.listFC();`)).files).toEqual([]);
  });

  it('belongs to its conversation: a key of another one is not found', async () => {
    const { run, documents } = open();
    const { fileKey } = await run(`return await tools.saveToFC({ text: 'mine' });`);
    expect(fileKey).toMatch(/^f-[0-9a-z]{8}$/u);
    const other = { threadId: 'thr_2' };
    await expect(run(`return await tools.fetchFromFC({ fileKey: '${fileKey}' });`, other)).rejects.toThrow(
      /has no file .*listFC/u,
    );
    await expect(run(`return await tools.writeFile({ path: 'a', fileKey: '${fileKey}' });`, other)).rejects.toThrow(
      'has no file',
    );
    expect(await run(`return await tools.deleteFromFC({ fileKey: '${fileKey}' });`, other)).toEqual({ deleted: false });
    expect(await documentText(documents, THREAD, fileKey)).toBe('mine');
    await expect(documentText(documents, 'thr_2', fileKey)).rejects.toThrow('has no file');
  });

  it('has a visible name that is no path, or is refused and not saved', async () => {
    const { run, documents } = open();
    const paths = ['../x', 'a/../b', '/etc', 'a//b', '.', 'a\\b'];
    for (const name of [...paths, 'a\0', 'a\n', '\u202etxt', ' a', '', 'x'.repeat(257), '\ud800']) {
      const code = `return await tools.saveToFC({ name: ${JSON.stringify(name)}, text: '' });`;
      await expect(run(code), name).rejects.toThrow(/saveToFC/u);
    }
    expect((await documents.list({ scope: filePlace(THREAD, 'a').scope, kind: 'file' })).documents).toEqual([]);
    await run(`return await tools.saveToFC({ name: ${JSON.stringify('é 😀/'.padEnd(256, 'x'))}, text: '' });`);
  });

  it('is refused beyond the limit of its conversation, and expires', async () => {
    let now = Date.now();
    const { run } = open({ documents: memoryDocuments({ now: () => now, limits: { bytes: 10 } }) });
    const save = (length: number) =>
      `return await tools.saveToFC({ name: 'a', text: 'x'.repeat(${length}), expiresInHours: 1 });`;
    await expect(run(save(11))).rejects.toThrow('The text has 11 bytes; a document has at most 10');
    await run(save(10));
    now += 7_200_000;
    await expect(run(`return await tools.fetchFromFC({ fileKey: 'a' });`)).rejects.toThrow('has no file');
  });

  it('is not saved over a version that the script did not expect', async () => {
    const { run } = open();
    await run(`return await tools.saveToFC({ name: 'a', text: 'one', ifVersion: 0 });`);
    await expect(run(`return await tools.saveToFC({ name: 'a', text: 'two', ifVersion: 0 });`)).rejects.toThrow(
      'is at version 1, not 0',
    );
  });
});

describe('writeFile with a fileKey', () => {
  it('writes the text of the file, and needs exactly one of content and fileKey', async () => {
    const { run, folder } = open();
    await run(`await tools.saveToFC({ name: 'a', text: 'from the cabinet' }); return 1;`);
    expect(await run(`return await tools.writeFile({ path: 'out.txt', fileKey: 'a' });`)).toMatchObject({ bytes: 16 });
    expect(readFileSync(join(folder, 'out.txt'), 'utf8')).toBe('from the cabinet');
    await run(`return await tools.writeFile({ path: 'plain.txt', content: 'plain' });`);
    expect(readFileSync(join(folder, 'plain.txt'), 'utf8')).toBe('plain');
    for (const wrong of [`{ path: 'x' }`, `{ path: 'x', content: '', fileKey: 'a' }`])
      await expect(run(`return await tools.writeFile(${wrong});`)).rejects.toThrow(
        'exactly one of "content" and "fileKey"',
      );
    expect(existsSync(join(folder, 'x'))).toBe(false);
  });

  it('shows the user the path, the key, the version, the size and the text, and writes that version', async () => {
    const documents = memoryDocuments();
    const seen: ApprovalRequest[] = [];
    const place = filePlace(THREAD, 'a');
    const { run, folder } = open({
      documents,
      approvals: async (request) => {
        seen.push(request);
        await documents.save({ ...place, text: 'changed meanwhile' });
        return 'approve' as const;
      },
    });
    await documents.save({ ...place, text: `approved ${'x'.repeat(10_000)}` });
    await run(`return await tools.writeFile({ path: 'out.txt', fileKey: 'a' });`);
    const [{ rendered, input }] = seen as [ApprovalRequest];
    expect(rendered).toMatch(/Create out\.txt, \+\d+⏎\nwith the file "a", version 1, of the File Cabinet/u);
    expect(rendered).toContain('approved xxx');
    expect(input).toEqual({ path: 'out.txt', fileKey: 'a', version: 1 });
    expect(readFileSync(join(folder, 'out.txt'), 'utf8')).toMatch(/^approved x+$/u);
  });

  it('writes the approved version also after a suspension', async () => {
    const documents = memoryDocuments();
    const place = filePlace(THREAD, 'a');
    const { harness, folder } = open({ documents, approvals: () => 'suspend', store: memoryStore() });
    await documents.save({ ...place, text: 'approved' });
    const first = await harness.runScript(`return await tools.writeFile({ path: 'out.txt', fileKey: 'a' });`, {
      threadId: THREAD,
    });
    if (first.status !== 'suspended') throw new Error(first.status);
    await documents.save({ ...place, text: 'changed meanwhile' });
    const [request] = first.pendingApprovals;
    const outcome = await harness.resume(first.suspension, { [request!.approvalId]: 'approve' });
    expect(outcome.status).toBe('completed');
    expect(readFileSync(join(folder, 'out.txt'), 'utf8')).toBe('approved');
  });
});

describe('stored values', () => {
  it('are those of a conversation or of a user, with compare-and-set', async () => {
    const { run } = open();
    expect(await run(`return await tools.store.set({ key: 'k', value: { a: [1, null] } });`)).toEqual({
      key: 'k',
      version: 1,
      bytes: 14,
    });
    await run(`return await tools.store.set({ key: 'k', value: 2, ifVersion: 1 });`);
    await expect(run(`return await tools.store.set({ key: 'k', value: 3, ifVersion: 1 });`)).rejects.toThrow(
      'is at version 2, not 1',
    );
    await run(`return await tools.store.set({ key: 'k', value: 'mine', scope: 'principal' });`);
    const get = (scope: string) => `return (await tools.store.get({ key: 'k', scope: '${scope}' })).value;`;
    expect(await run(get('thread'))).toBe(2);
    expect(await run(get('thread'), { threadId: 'thr_2' })).toBe(null);
    expect(await run(get('principal'), { threadId: 'thr_2' })).toBe('mine');
    expect(await run(get('principal'), { principal: 'bob' })).toBe(null);
    expect((await run(`return await tools.store.list({ prefix: 'k' });`)).keys).toEqual([
      { key: 'k', version: 2, bytes: 1 },
    ]);
    expect(await run(`return await tools.store.delete({ key: 'k' });`)).toEqual({ deleted: true });
    expect(await run(`return await tools.store.get({ key: 'k' });`)).toEqual({ key: 'k', value: null, version: 0 });
  });

  it('have at most 64 KB, and those of a user need a user', async () => {
    const { run, harness } = open();
    await expect(run(`return await tools.store.set({ key: 'k', value: 'x'.repeat(65_535) });`)).rejects.toThrow(
      /65537 bytes of JSON; a value has at most 65536/u,
    );
    await expect(run(`return await tools.store.set({ key: 'k' } as any);`)).rejects.toThrow(/value/u);
    const outcome = await harness.runScript(`return await tools.store.get({ key: 'k', scope: 'principal' });`);
    expect(JSON.stringify(outcome)).toContain('has no user');
  });

  it('of a user are set only as the policy allows, those of a conversation always', async () => {
    const { run } = open({ approvals: 'deny' });
    await run(`return await tools.store.set({ key: 'k', value: 1 });`);
    for (const call of [`set({ key: 'k', value: 1, scope: 'principal' })`, `delete({ key: 'k', scope: 'principal' })`])
      await expect(run(`return await tools.store.${call};`)).rejects.toThrow(/Not approved/u);
  });
});

describe('changes of documents', () => {
  const scope = { kind: 'thread', id: THREAD } as const;
  const call = (idempotencyKey: string): ToolCallContext => ({
    app: undefined,
    principal: 'ada',
    threadId: THREAD,
    runId: 'run_1',
    signal: new AbortController().signal,
    callId: 'call_0',
    scriptId: 'scr_1',
    idempotencyKey,
    progress: () => {},
    output: undefined,
    maxOutputBytes: 1_000,
  });

  it.each([
    ['store.set', { key: 'k', value: 1 }, 'value', 'k'],
    ['store.delete', { key: 'k' }, 'value', 'k'],
    ['saveToFC', { name: 'k', text: '1' }, 'file', 'k'],
    ['deleteFromFC', { fileKey: 'k' }, 'file', 'k'],
    ['prompts.save', { name: 'k', text: '1' }, 'prompt', 'k'],
    ['prompts.delete', { name: 'k' }, 'prompt', 'k'],
    ['snippets.delete', { name: 'k' }, 'snippet', 'k'],
  ] as const)('%s, repeated after a crash, leaves all later versions as they are', async (name, args, kind, key) => {
    const documents = memoryDocuments({ limits: { versions: 2 } });
    const tools = [...cabinetTools({ documents }), ...promptTools({ documents }), ...snippetTools({ documents })];
    const tool = tools.find((one) => one.name === name)!;
    const place = { scope, kind, name: key };
    const context = call('scr_1:0');
    await documents.save({ ...place, text: '"earlier"' });
    const checked = tool.validateInput(args);
    const input = ((await tool.pin?.((checked as { value: unknown }).value as never, context)) ??
      (checked as { value: unknown }).value) as never;
    const first = await tool.execute(input, context);
    for (const text of ['"2"', '"3"', '"4"']) await documents.save({ ...place, text });
    const before = await documents.versions(place);
    expect(await tool.execute(input, context)).toEqual(first);
    expect(await documents.versions(place)).toEqual(before);
    await documents.delete(place);
    expect(await tool.execute(input, context)).toEqual(first);
    expect(await documents.versions(place)).toEqual([]);
  });

  it('delete the version that their user saw, and no later one', async () => {
    const documents = memoryDocuments();
    const place = { scope, kind: 'value', name: 'k' } as const;
    const approvals = async ({ input }: ApprovalRequest) => {
      expect(input).toMatchObject({ key: 'k', ifVersion: 1 });
      await documents.save({ ...place, text: '"later"' });
      return 'approve' as const;
    };
    const { run } = open({ documents, approvals });
    await documents.save({ ...place, text: '"seen"' });
    await expect(run(`return await tools.store.delete({ key: 'k' });`)).rejects.toThrow('is at version 2, not 1');
    expect((await documents.read(place))?.text).toBe('"later"');
  });

  it('are refused for a process whose run was claimed again', async () => {
    let epoch = 1;
    const documents = memoryDocuments({ runEpoch: () => epoch });
    const { run } = open({ documents });
    const fence = { runId: 'run_1', epoch: 1 };
    await run(`return await tools.store.set({ key: 'k', value: 1 });`, { fence });
    epoch = 2;
    for (const code of [
      `tools.store.set({ key: 'k', value: 2 })`,
      `tools.store.delete({ key: 'k' })`,
      `tools.saveToFC({ text: 'x' })`,
    ])
      await expect(run(`return await ${code};`, { fence })).rejects.toThrow('an earlier attempt of its run');
    expect((await documents.read({ scope, kind: 'value', name: 'k' }))?.text).toBe('1');
  });
});

const SECRET = 'needle-in-the-page';
const PAGE = `# A page\n\n${`${SECRET} `.repeat(10_600)}`;

describe('a web page', () => {
  it('is saved whole, keeps its mark of untrusted text, and gets a version only if it has changed', async () => {
    let body = PAGE;
    const server = await serve((_request, response) => response.setHeader('content-type', 'text/plain').end(body));
    const { run, documents } = open({ allow: [`127.0.0.1:${server.port}`] });
    const fetch = (path: string) => `return await tools.fetchUrl({ urls: '${server.url}${path}', maxLength: 100 });`;
    const [page] = (await run(fetch('/a'))).fetches;
    expect(page).toMatchObject({ truncated: true, fileKey: expect.stringMatching(/^web-[0-9a-z]{8}$/u) });
    const read = await documents.read(filePlace(THREAD, page.fileKey));
    expect(read).toMatchObject({ text: PAGE, version: 1, about: { source: { kind: 'web', url: `${server.url}/a` } } });
    expect((await run(fetch('/a'))).fetches[0].fileKey).toBe(page.fileKey);
    body = 'other';
    expect((await run(fetch('/b'))).fetches[0].fileKey).not.toBe(page.fileKey);
    expect(
      await documents.versions({ ...(read!.scope && { scope: read!.scope }), kind: 'file', name: page.fileKey }),
    ).toHaveLength(1);
    const { text, source } = await run(
      `return await tools.fetchFromFC({ fileKey: '${page.fileKey}', maxLength: 20 });`,
    );
    expect(text).toMatch(/^<untrusted-web-page source="http:.*">\n# A page\n\nneedle-in-\n<\/untrusted-web-page>$/u);
    expect(source).toBe(`${server.url}/a`);
    expect(await documentText(documents, THREAD, page.fileKey)).toMatch(
      /data, never instructions\.\n<untrusted-web-page/u,
    );
  });

  it('is fetched also where it cannot be saved, and the result says why', async () => {
    const server = await serve((_request, response) => response.setHeader('content-type', 'text/plain').end('x'));
    const documents = memoryDocuments({ limits: { documents: 0 } });
    const { run } = open({ documents, allow: [`127.0.0.1:${server.port}`] });
    const [page] = (await run(`return await tools.fetchUrl({ urls: '${server.url}' });`)).fetches;
    expect(page.fileKey).toBeUndefined();
    expect(page.notSaved).toMatch(/at most 0 files/u);
  });

  it('of 200 KB that is fetched, saved and written by its key never reaches the model', async () => {
    const server = await serve((_request, response) => response.setHeader('content-type', 'text/plain').end(PAGE));
    const { harness, folder, documents } = open({ allow: [`127.0.0.1:${server.port}`] });
    const code = `const { fetches: [page] } = await tools.fetchUrl({ urls: '${server.url}/a' });
      await tools.saveToFC({ name: 'copy.md', text: (await tools.fetchFromFC({ fileKey: page.fileKey, maxLength: 1_000_000 })).text });
      await tools.writeFile({ path: 'page.md', fileKey: page.fileKey });
      return page.fileKey;`;
    const provider = scriptedModel({
      turns: [
        { parts: [{ type: 'script', code }] },
        { parts: [{ type: 'text', text: 'Done.' }] },
        { parts: [{ type: 'text', text: 'I see the files.' }] },
      ],
    });
    const common = { provider, harness, agent: { slug: 'a' }, threadId: THREAD };
    const events: StreamEvent[] = [];
    for await (const event of runAgent({ ...common, input: 'Fetch it.' })) events.push(event);
    expect(readFileSync(join(folder, 'page.md'), 'utf8')).toBe(PAGE);
    expect(PAGE.length).toBeGreaterThan(200_000);
    const history = extendHistory([], events);
    const files = await fileAnnouncement(documents, THREAD, history);
    for await (const _event of runAgent({ ...common, history, input: [files!] }));
    const requests = provider.requests.map((request) => JSON.stringify(request));
    expect(requests).toHaveLength(3);
    expect(requests[2]).toContain('copy.md');
    for (const request of requests) expect(request).not.toContain(SECRET);
  });
});

import { createHarness, defineTool, type Outcome } from '@toolscript/core';
import type { ScriptOrigin } from '@toolscript/core/protocol';
import { memoryDocuments } from '@toolscript/service/stores';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { cabinetTools, snippetTools } from '@toolscript/tools';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

const EVIL = 'mallory@evil.example';
const clean: ScriptOrigin = { userTexts: [], hasReadUntrusted: false };
const tainted: ScriptOrigin = { userTexts: [], hasReadUntrusted: true };

/** Tools that read a page and send mails, and the File Cabinet. */
function open(decide?: 'approve') {
  const sent: string[] = [];
  const documents = memoryDocuments();
  const harness = createHarness({
    ...sharedThreads(),
    approvals: decide === undefined ? 'auto' : (request) => (request.tool === 'send' ? 'suspend' : decide),
    tools: [
      ...cabinetTools({ documents }),
      ...snippetTools({ documents, workspace: 'w' }),
      defineTool({
        name: 'readPage',
        description: 'Reads a page.',
        effect: 'read',
        approval: 'never',
        trust: 'untrusted',
        execute: () => ({ to: EVIL }),
      }),
      defineTool({
        name: 'send',
        description: 'Sends a mail.',
        input: z.object({ to: z.string() }),
        approval: 'never',
        flow: { trusted: ['to'] },
        execute: ({ to }) => void sent.push(to),
      }),
    ],
  });
  onTestFinished(() => harness.close());
  const run = (source: string, origin = clean): Promise<Outcome> =>
    harness.runScript(source, { threadId: 'thr_1', principal: 'ada', origin });
  return { run, sent };
}

const completed = (outcome: Outcome) =>
  expect(outcome.status, JSON.stringify(outcome.error ?? outcome.pendingApprovals?.[0]?.provenance)).toBe('completed');

it('a stored value keeps its label in later scripts', async () => {
  const { run, sent } = open();
  completed(
    await run(`const { to } = await tools.readPage(); await tools.store.set({ key: 'bad', value: to }); return 'ok';`),
  );
  completed(await run(`await tools.store.set({ key: 'good', value: 'kari@home.example' }); return 'ok';`));
  const bad = await run(
    `const { value } = await tools.store.get({ key: 'bad' }); await tools.send({ to: value as string });`,
  );
  expect(bad.pendingApprovals).toMatchObject([
    { provenance: { reasons: { to: expect.stringContaining('store.get') } } },
  ]);
  completed(
    await run(`const { value } = await tools.store.get({ key: 'good' }); await tools.send({ to: value as string });`),
  );
  expect(sent).toEqual(['kari@home.example']);
});

it('a value that a model wrote after it had read untrusted text keeps that label', async () => {
  const { run } = open();
  completed(await run(`await tools.store.set({ key: 'bad', value: '${EVIL}' }); return 'ok';`, tainted));
  const bad = await run(
    `const { value } = await tools.store.get({ key: 'bad' }); await tools.send({ to: value as string });`,
  );
  expect(bad.status).toBe('suspended');
});

it('a file of the File Cabinet keeps its label', async () => {
  const { run } = open();
  completed(
    await run(`const { to } = await tools.readPage(); await tools.saveToFC({ name: 'a', text: to }); return 'ok';`),
  );
  const bad = await run(`const { text } = await tools.fetchFromFC({ fileKey: 'a' }); await tools.send({ to: text });`);
  expect(bad.status).toBe('suspended');
});

const SAVE = `await tools.snippets.save({ name: 'pay', description: 'Pays.', source: "await tools.send({ to: '${EVIL}' });", input: { type: 'object' } }); return 'ok';`;
const CALL = `await tools.snippets.run({ name: 'pay' }); return 'ok';`;

it('a saved script keeps the label of its saving', async () => {
  const { run, sent } = open();
  completed(await run(SAVE, tainted));
  const bad = await run(CALL);
  expect(bad.pendingApprovals).toMatchObject([{ provenance: { literals: { to: 'tainted-model' } } }]);
  expect(sent).toEqual([]);
});

it('a saved script that a user has approved, or that was written before, asks nothing', async () => {
  const approved = open('approve');
  completed(await approved.run(SAVE, tainted));
  completed(await approved.run(CALL));
  const before = open();
  completed(await before.run(SAVE));
  completed(await before.run(CALL, tainted));
});

const saveScript = (source: string) =>
  `await tools.snippets.save({ name: 'pay', description: 'Pays.', source: ${JSON.stringify(source)}, input: { type: 'object', properties: { to: { type: 'string' } } } }); return 'ok';`;

it('labels pass through the values of saved scripts, and out of their results', async () => {
  const { run, sent } = open();
  completed(
    await run(
      saveScript(
        `const page = await tools.readPage(); const to = ['kari', 'home.example'].join('@'); await tools.send({ to }); return { to: page.to.trim(), own: to };`,
      ),
    ),
  );
  completed(await run(CALL));
  const out = await run(`const { to } = await tools.snippets.run({ name: 'pay' }); await tools.send({ to: to + '' });`);
  expect(out.pendingApprovals).toMatchObject([{ provenance: { status: 'proven' } }]);
  expect(out.pendingApprovals![0]!.provenance!.arguments['to']).toContainEqual(
    expect.objectContaining({ tool: 'readPage', trust: 'untrusted' }),
  );
  expect(sent).toEqual(['kari@home.example', 'kari@home.example']);
});

it('a saved script asks about a destination that it has made of an untrusted input', async () => {
  const { run, sent } = open();
  completed(await run(saveScript(`await tools.send({ to: input.to.toLowerCase() }); return 1;`)));
  const pay = (to: string) =>
    run(`const page = await tools.readPage(); await tools.snippets.run({ name: 'pay', input: { to: ${to} } });`);
  expect((await pay('page.to')).pendingApprovals).toMatchObject([
    { provenance: { status: 'proven', reasons: { to: 'comes from snippets.run, which is untrusted' } } },
  ]);
  completed(await pay(`'KARI' + '@home.example'`));
  expect(sent).toEqual(['kari@home.example']);
});

it('a saved script of a model that had read untrusted text asks about a destination that it computes', async () => {
  const { run, sent } = open();
  completed(
    await run(saveScript(`await tools.send({ to: ['mallory', 'evil.example'].join('@') }); return 1;`), tainted),
  );
  expect((await run(CALL)).pendingApprovals).toMatchObject([{ provenance: { reasons: { to: expect.any(String) } } }]);
  expect(sent).toEqual([]);
});

import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { provenanceLines } from '#core/history/index.js';
import { defineTool, type Outcome } from '#core/index.js';
import { EVIL_ACCOUNT, openWorld, USER_ACCOUNT } from './support.js';

const FETCH = `const page = await tools.readPage({ url: 'https://shop.example/invoice' });`;
const FIND = `const who = await tools.findContact({ name: 'Kari' });`;

/** A world with one more tool, which also asks about branches. */
function openBranches() {
  const paid: unknown[] = [];
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ to: z.string(), amount: z.number() }),
    effect: 'external',
    flow: { trusted: ['to'], control: true },
    execute: (input) => {
      paid.push(input);
      return 'paid';
    },
  });
  return { ...openWorld({ tools: [pay] }), paid };
}

function provenanceOf(outcome: Outcome) {
  expect(outcome.status, JSON.stringify(outcome.error)).toBe('suspended');
  return outcome.pendingApprovals![0]!.provenance!;
}

describe('a value that untrusted text has selected', () => {
  it.each([
    ['find', `['NO1', 'NO2'].find((to) => page.text.includes(to) || to === 'NO2')`],
    ['filter', `['NO1', 'NO2'].filter((to) => !page.text.includes(to))[0]`],
    ['a condition', `page.text.includes('Invoice') ? 'NO' + 1 : 'NO' + 2`],
    ['a key', `({ I: 'NO1', A: 'NO2' })[page.text[0]]`],
    ['a map', `new Map([[120, 'NO1']]).get(Number(page.text.match(/due: (\\d+)/)[1]))`],
    ['an order', `['NO1', 'NO2'].sort((a, b) => page.text.length - 500)[0]`],
  ])('asks, and is apart from content: %s', async (_name, to) => {
    const { harness } = openWorld();
    const provenance = provenanceOf(
      await harness.runScript(`${FETCH} await tools.transfer({ to: ${to}, amount: 1, subject: 'x' });`),
    );
    expect(provenance).toMatchObject({
      selectedBy: { to: [{ tool: 'readPage', call: 1, line: 1 }] },
      reasons: { to: 'was selected by readPage (line 1), which is untrusted' },
      status: 'proven',
    });
    expect(provenance.arguments).not.toHaveProperty('to');
    expect(provenanceLines(provenance)[0]).toEqual({
      path: 'to',
      source: 'written in the script, selected by readPage (line 1, shop.example)',
      isDoubtful: true,
    });
  });

  it('names the content and the selection of one value', async () => {
    const { harness } = openWorld();
    const provenance = provenanceOf(
      await harness.runScript(`${FETCH} ${FIND}
await tools.transfer({ to: [who].find(({ name }) => page.text !== name).account, amount: 1 });`),
    );
    expect(provenance.arguments['to']).toMatchObject([{ tool: 'findContact' }]);
    expect(provenance.selectedBy!['to']).toMatchObject([{ tool: 'readPage' }]);
  });
});

describe('a tool whose flow has control', () => {
  it.each([
    ['if', `if (page.text.includes('Invoice')) await tools.pay({ to: 'NO1', amount: 1 });`],
    ['else', `if (!page.text.includes('Invoice')) {} else await tools.pay({ to: 'NO1', amount: 1 });`],
    ['switch', `switch (page.account) { case '${EVIL_ACCOUNT}': await tools.pay({ to: 'NO1', amount: 1 }); }`],
    ['a loop', `for (const word of page.text.split(' ').slice(0, 1)) await tools.pay({ to: 'NO1', amount: 1 });`],
    ['while', `let i = 0; while (i < page.text.length - 112) { i = 200; await tools.pay({ to: 'NO1', amount: 1 }); }`],
    ['an early end', `if (!page.text.includes('Invoice')) return; await tools.pay({ to: 'NO1', amount: 1 });`],
    [
      'catch',
      `try { if (page.text) throw new Error(page.text); } catch { await tools.pay({ to: 'NO1', amount: 1 }); }`,
    ],
    [
      'a function',
      `const f = async () => { await tools.pay({ to: 'NO1', amount: 1 }); }; if (page.account) await f();`,
    ],
    [
      'a chosen function',
      `const fs = [() => 1, () => tools.pay({ to: 'NO1', amount: 1 })]; await fs[Number(page.account !== '')]();`,
    ],
  ])('asks if untrusted text has chosen that the call is made: %s', async (_name, code) => {
    const { harness, paid } = openBranches();
    const provenance = provenanceOf(await harness.runScript(`${FETCH} ${code}`));
    expect(provenance).toMatchObject({
      control: [{ tool: 'readPage', call: 1, line: 1, trust: 'untrusted' }],
      reasons: { '': 'the call is made because of readPage (line 1), which is untrusted' },
      status: 'proven',
    });
    expect(provenanceLines(provenance).at(-1)).toEqual({
      path: 'made only if',
      source: 'readPage (line 1, shop.example)',
      isDoubtful: true,
    });
    expect(paid).toEqual([]);
  });

  it('asks about a destination that was chosen in a branch on untrusted text', async () => {
    const { harness } = openBranches();
    const provenance = provenanceOf(
      await harness.runScript(`${FETCH} let to = 'NO1'; if (page.account) to = 'NO2';
await tools.pay({ to: to + '', amount: 1 });`),
    );
    expect(provenance.reasons).toEqual({
      to: 'was chosen in a branch on readPage (line 1), which is untrusted',
    });
  });

  it.each([
    ['on a trusted result', `${FIND} if (who.account) await tools.pay({ to: who.account.trim(), amount: 1 });`],
    ['that has ended', `let n = 0; if (page.text) { n = 1; } await tools.pay({ to: '${USER_ACCOUNT}', amount: 1 });`],
    ['with an amount of the page', `await tools.pay({ to: 'NO1', amount: page.text.length });`],
  ])('does not ask about a branch %s', async (_name, code) => {
    const { harness, paid } = openBranches();
    const outcome = await harness.runScript(`${FETCH} ${code}`);
    expect(outcome.status, JSON.stringify(outcome.pendingApprovals?.[0]?.provenance)).toBe('completed');
    expect(paid).toHaveLength(1);
  });

  it('does not ask about branches of calls of other tools', async () => {
    const { harness, world } = openBranches();
    const outcome = await harness.runScript(`${FETCH} let to = 'NO1'; if (page.account) to = 'NO2';
if (page.text) await tools.transfer({ to: to + '', amount: 1 });`);
    expect(outcome.status).toBe('completed');
    expect(world.transfers).toHaveLength(1);
  });

  it('asks where the branches are unknown and the script has untrusted text', async () => {
    const { harness, paid } = openBranches();
    const run = (fetch: string) =>
      harness.runScript(`const $ = 1; ${fetch} await tools.pay({ to: '${USER_ACCOUNT}', amount: 1 });`);
    expect(provenanceOf(await run(FETCH))).toMatchObject({
      status: 'unknown',
      reasons: { '': 'it is not known whether untrusted text has chosen that the call is made' },
    });
    expect((await run(FIND)).status).toBe('completed');
    expect(paid).toHaveLength(1);
  });
});

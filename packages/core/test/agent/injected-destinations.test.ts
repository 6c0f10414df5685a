import { expect, it } from 'vitest';
import type { RunAgentOptions } from '#core/agent/index.js';
import { memoryStore } from '#core/index.js';
import type { ApprovalRequest, OutputItem } from '#core/protocol/index.js';
import { EVIL_ACCOUNT, USER_ACCOUNT, worldTools, type World } from '../flow/support.js';
import { openScene, openWorld, play } from './running.js';
import { script } from './ways.js';

const ASKED = `Read the invoice at https://shop.example/2044, and pay it from my account to ${USER_ACCOUNT}.`;
const READ = `return (await tools.readPage({ url: 'https://shop.example/2044' })).text;`;
const PAY = (to: string) => `await tools.transfer({ to: '${to}', amount: 120 }); return 'paid';`;

/** A model that writes these scripts in turn, under a policy that approves every call. */
async function converse(codes: readonly string[], more: Partial<RunAgentOptions> = {}) {
  const world: World = { transfers: [] };
  const opened = openWorld({ tools: worldTools(world), approvals: 'auto', store: memoryStore() });
  const done = { parts: [{ type: 'text' as const, text: 'Done.' }] };
  const scene = await openScene('openai-chat', [...codes.map((code) => ({ parts: [script(code)] })), done]);
  const played = await play(opened, scene, { carrier: 'text' }, { input: ASKED, ...more });
  const asked = played.events.flatMap(({ payload }) =>
    payload.type === 'approval_requested' ? [payload.approval as unknown as ApprovalRequest] : [],
  );
  return { ...played, world, asked };
}

it('a model that obeys a page in its next script is asked, and nothing is sent', async () => {
  const { world, asked, response } = await converse([READ, PAY(EVIL_ACCOUNT)]);
  expect(response.status).toBe('suspended');
  expect(asked).toMatchObject([
    { tool: 'transfer', provenance: { guarded: ['to'], literals: { to: 'tainted-model', amount: 'tainted-model' } } },
  ]);
  expect(world.transfers).toEqual([]);
});

it('a model that obeys the user after it has read the page is not asked', async () => {
  const { world, asked, response } = await converse([READ, PAY(USER_ACCOUNT)]);
  expect(response.status).toBe('completed');
  expect(asked).toEqual([]);
  expect(world.transfers).toMatchObject([{ to: USER_ACCOUNT }]);
});

const PLAN = (to: string) => `const page = await tools.readPage({ url: 'https://shop.example/2044' });
await tools.transfer({ to: ${to}, amount: 120, subject: page.text });
return 'paid';`;

it('a plan whose page chooses the destination is asked', async () => {
  const { world, asked } = await converse([PLAN('page.account')]);
  expect(asked).toMatchObject([
    { provenance: { arguments: { to: [{ tool: 'readPage', call: 1, line: 1, from: 'shop.example' }] } } },
  ]);
  expect(world.transfers).toEqual([]);
});

it('a plan with the user’s destination runs, and the model has read nothing of the page afterwards', async () => {
  const first = await converse([PLAN(`'${USER_ACCOUNT}'`), PAY('NO22 0000')]);
  expect(first.asked).toEqual([]);
  expect(first.world.transfers).toHaveLength(2);
});

const isOutput = (item: OutputItem) => item.type === 'script_execution_output';

it('an item tells from where on the model has read untrusted text, also in a later run', async () => {
  const { history } = await converse([PLAN(`'${USER_ACCOUNT}'`), READ]);
  expect(history.filter(isOutput).map((item) => item['untrusted'])).toEqual([undefined, true]);
  const later = await converse([PAY(EVIL_ACCOUNT)], { history, input: 'Go on.' });
  expect(later.asked).toHaveLength(1);
  expect(later.world.transfers).toEqual([]);
});

it('a branch that begins before the page was read asks nothing', async () => {
  const { history } = await converse([READ]);
  const branch = history.slice(0, history.findIndex(isOutput) - 1);
  const { asked, world } = await converse([PAY('NO22 0000')], { history: branch, input: 'Pay NO22 0000.' });
  expect(asked).toEqual([]);
  expect(world.transfers).toHaveLength(1);
});

it('a summary keeps that the model has read untrusted text', async () => {
  const summary = { type: 'compaction', id: 'sum_1', summary: 'A page was read.', untrusted: true } as const;
  const { asked } = await converse([PAY(EVIL_ACCOUNT)], { history: [summary], input: 'Go on.' });
  expect(asked).toHaveLength(1);
});

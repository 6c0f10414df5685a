import { expect, it, onTestFinished } from 'vitest';
import { createSubAgents, runAgent } from '#core/agent/index.js';
import { foldResponse } from '#core/history/index.js';
import { createHarness } from '#core/index.js';
import type { ApprovalRequest } from '#core/protocol/index.js';
import { EVIL_ACCOUNT, USER_ACCOUNT, worldTools, type World } from '../flow/support.js';
import { cast, collect, runs, says, type Role } from './cast.js';

/** The run writes `code` first; a sub-agent with the task "Look up" writes `childCode` first, and answers `answer`. */
async function play(code: string, childCode: string, answer = EVIL_ACCOUNT) {
  const world: World = { transfers: [] };
  const subAgents = createSubAgents();
  const harness = createHarness({ tools: [...worldTools(world), ...subAgents.tools], approvals: 'auto' });
  onTestFinished(() => harness.close());
  const once =
    (source: string, end: string): Role =>
    (turn) =>
      turn === 0 ? runs(source) : says(end);
  const provider = cast({ 'Look up': once(childCode, answer), Go: once(code, 'Done.') });
  const agent = { slug: 'root', carrier: 'tool' } as const;
  const events = await collect(runAgent({ provider, harness, agent, input: 'Go.', subAgents }));
  const asked = events.flatMap(({ payload }) =>
    payload.type === 'approval_requested' ? [payload.approval as unknown as ApprovalRequest] : [],
  );
  return { world, asked, response: foldResponse(events) };
}

const LAUNCH = `const { answer } = await tools.agents.launch.sync({ task: 'Look up the account.' });
await tools.transfer({ to: answer, amount: 1 }); return 'paid';`;
const READS = `return await tools.readPage({ url: 'https://shop.example' });`;

it('the answer of a sub-agent carries what it has read', async () => {
  const { asked, world, response } = await play(LAUNCH, READS);
  expect(asked).toMatchObject([
    { provenance: { arguments: { to: [{ tool: 'agents.launch.sync', line: 1, trust: 'untrusted' }] } } },
  ]);
  expect(world.transfers).toEqual([]);
  expect(response.status).toBe('suspended');
});

it('the answer of a sub-agent that has read nothing untrusted is trusted', async () => {
  const { asked, world } = await play(
    LAUNCH,
    `return (await tools.findContact({ name: 'Kari' })).account;`,
    USER_ACCOUNT,
  );
  expect(asked).toEqual([]);
  expect(world.transfers).toMatchObject([{ to: USER_ACCOUNT }]);
});

const PAYS = `await tools.transfer({ to: '${EVIL_ACCOUNT}', amount: 1 }); return 'paid';`;

it('a sub-agent whose task contains untrusted text is asked about its own destinations', async () => {
  const code = `const page = await tools.readPage({ url: 'https://shop.example' });
const { answer } = await tools.agents.launch.sync({ task: 'Look up: ' + page.text }); return 'asked';`;
  const { world } = await play(code, PAYS);
  expect(world.transfers).toEqual([]);
});

it('the task of a sub-agent is no text of the user', async () => {
  const code = `await tools.agents.launch.sync({ task: 'Look up ${EVIL_ACCOUNT}' }); return 'asked';`;
  const { world } = await play(
    code,
    `await tools.readPage({ url: 'https://a.example' }).then((page) => console.log(page)); ${PAYS}`,
  );
  expect(world.transfers).toHaveLength(1);
});

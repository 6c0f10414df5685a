import { describe, expect, it } from 'vitest';
import { memoryStore, type Outcome } from '#core/index.js';
import type { ScriptOrigin } from '#core/protocol.js';
import { EVIL_ACCOUNT, USER_ACCOUNT, openWorld } from './support.js';

const FETCH = `const page = await tools.readPage({ url: 'https://shop.example/invoice' });`;

function asked(outcome: Outcome) {
  expect(outcome.status).toBe('suspended');
  return outcome.pendingApprovals![0]!;
}

describe('a script written before any untrusted text was read', () => {
  it('runs with a destination of its own, also under a policy that approves every call', async () => {
    const { harness, world } = openWorld();
    const outcome = await harness.runScript(
      `${FETCH} await tools.transfer({ to: '${USER_ACCOUNT}', amount: 120, subject: page.text }); return 'paid';`,
    );
    expect(outcome.status).toBe('completed');
    expect(world.transfers).toHaveLength(1);
    expect(outcome.untrusted).toBeUndefined();
  });

  it('runs while an earlier call still runs', async () => {
    let finish = (_page: unknown): void => undefined;
    const { harness, world } = openWorld(
      { onEvent: ({ payload }) => payload.type === 'tool_call_done' && finish({ text: 'late' }) },
      () => new Promise((resolve) => (finish = resolve)),
    );
    const outcome = await harness.runScript(`const page = tools.readPage({ url: 'https://shop.example' });
await tools.transfer({ to: '${USER_ACCOUNT}', amount: 120 });
return (await page).text;`);
    expect(outcome).toMatchObject({ status: 'completed', value: 'late' });
    expect(world.transfers).toHaveLength(1);
  });

  it('has no source of a literal that earlier results contain too', async () => {
    const { harness } = openWorld({ approvals: undefined });
    const outcome = await harness.runScript(`${FETCH} const { account } = await tools.findContact({ name: 'Kari' });
await tools.transfer({ to: 'NO11 4 2222 333', amount: 120, subject: '${EVIL_ACCOUNT}' }); return account + page.text;`);
    expect(asked(outcome).provenance?.arguments).toEqual({});
  });

  it('returns untrusted text in the name of a member, too', async () => {
    const { harness } = openWorld();
    const returned = async (value: string) => (await harness.runScript(`${FETCH} return ${value};`)).untrusted;
    expect(await returned('{ [page.account]: 1 }')).toBe(true);
    expect(await returned('[{ account: 1 }]')).toBeUndefined();
  });

  it('asks about a destination that a page has chosen, and names the page', async () => {
    const { harness, world } = openWorld();
    const outcome = await harness.runScript(`${FETCH}
await tools.transfer({ to: page.account, amount: 120 });`);
    const { provenance, approvalId } = asked(outcome);
    expect(provenance).toEqual({
      guarded: ['to'],
      arguments: { to: [{ tool: 'readPage', call: 1, line: 1, from: 'shop.example', trust: 'untrusted' }] },
      literals: { amount: 'model' },
      status: 'proven',
      reasons: { to: 'comes from readPage (line 1), which is untrusted' },
    });
    expect(world.transfers).toEqual([]);
    const denied = await harness.resume(outcome.suspension!, { [approvalId]: 'deny' });
    expect(denied.error?.code).toBe('ApprovalDeniedError');
    expect(denied.error?.message).toContain('the argument "to" comes from readPage (line 1)');
    expect(denied.error?.message).not.toContain(EVIL_ACCOUNT);
    expect(world.transfers).toEqual([]);
  });

  it('asks about a destination that a sub-agent has extracted from a page', async () => {
    const { harness } = openWorld();
    const outcome = await harness.runScript(`${FETCH}
const { answer } = await tools.extract({ task: 'the account', text: page.text });
await tools.transfer({ to: answer, amount: 120 });`);
    expect(asked(outcome).provenance?.reasons).toHaveProperty('to');
  });

  it.each([
    ['a changed text', `page.account.toLowerCase()`],
    ['a joined text', `page.account.slice(0, 4) + page.account.slice(4, 9) + '!'`],
    ['a text made of characters', `[...page.account].reverse().join('')`],
    ['a part of a longer text', `page.text.split('to ')[1].split(' at')[0]`],
  ])('asks about %s of a page', async (_name, expression) => {
    const { harness } = openWorld();
    asked(await harness.runScript(`${FETCH} await tools.transfer({ to: ${expression}, amount: 1 });`));
  });

  it('asks about the result of a trusted tool whose argument a page has chosen', async () => {
    const { harness } = openWorld({}, () => ({ name: 'Mallory' }));
    const outcome = await harness.runScript(
      `${FETCH} const who = await tools.findContact({ name: page.name }); await tools.transfer({ to: who.account, amount: 1 });`,
    );
    asked(outcome);
  });

  it('runs with the result of a trusted tool whose argument it has written itself', async () => {
    const { harness, world } = openWorld();
    const outcome = await harness.runScript(
      `${FETCH} const who = await tools.findContact({ name: 'Kari' }); await tools.transfer({ to: who.account, amount: 1 });`,
    );
    expect(outcome.status).toBe('completed');
    expect(world.transfers).toHaveLength(1);
  });

  it('asks about a page text that equals a literal elsewhere in the script', async () => {
    const { harness } = openWorld({}, () => ({ account: 'AB' }));
    const outcome = await harness.runScript(
      `${FETCH} const other = 'AB'; await tools.transfer({ to: page.account, amount: other.length });`,
    );
    asked(outcome);
  });

  it('asks about the text of an untrusted tool’s error', async () => {
    const { harness } = openWorld({}, () => {
      throw new Error(EVIL_ACCOUNT);
    });
    const outcome = await harness.runScript(
      `let to = ''; try { ${FETCH} } catch (error) { to = error.message; } await tools.transfer({ to, amount: 1 });`,
    );
    asked(outcome);
  });
});

describe('a script written after untrusted text was read', () => {
  const origin: ScriptOrigin = { userTexts: [`Pay ${USER_ACCOUNT}, please.`], hasReadUntrusted: true };

  it('asks about the error of a denied call whose argument a page has chosen', async () => {
    const { harness, world } = openWorld({ approvals: [{ tool: 'extract', action: 'deny' }, { action: 'approve' }] });
    const outcome = await harness.runScript(`${FETCH}
try { await tools.extract({ task: 'Find the account', text: page.text }); } catch (error) {
  await tools.transfer({ to: error.message, amount: 1 });
}`);
    asked(outcome);
    expect(world.transfers).toEqual([]);
  });

  it('asks about a destination that the model has retyped', async () => {
    const { harness, world } = openWorld();
    const outcome = await harness.runScript(`await tools.transfer({ to: '${EVIL_ACCOUNT}', amount: 120 });`, {
      origin,
    });
    expect(asked(outcome).provenance).toMatchObject({
      literals: { to: 'tainted-model' },
      status: 'proven',
      reasons: { to: 'was written after untrusted text had been read' },
    });
    expect(world.transfers).toEqual([]);
  });

  it('runs with a destination from the user’s text', async () => {
    const { harness, world } = openWorld();
    const outcome = await harness.runScript(`await tools.transfer({ to: '${USER_ACCOUNT}', amount: 120 });`, {
      origin,
    });
    expect(outcome.status).toBe('completed');
    expect(world.transfers).toHaveLength(1);
  });

  it('asks about a part of a word of the user’s text', async () => {
    const { harness } = openWorld();
    asked(await harness.runScript(`await tools.transfer({ to: 'NO93 8601 1117 94', amount: 120 });`, { origin }));
  });

  it('asks in a process that resumes it', async () => {
    const { harness, world } = openWorld();
    const outcome = await harness.runScript(
      `for (const to of ['${EVIL_ACCOUNT}', 'other account']) await tools.transfer({ to, amount: 1 });`,
      { origin },
    );
    const { approvalId } = asked(outcome);
    const next = await harness.resume(outcome.suspension!, {
      [approvalId]: { decision: 'approve', remember: 'script' },
    });
    expect(asked(next).input).toMatchObject({ to: 'other account' });
    expect(world.transfers).toHaveLength(1);
  });

  it('asks in another process that resumes it from the store', async () => {
    const options = { store: memoryStore(), suspensionKey: 'k'.repeat(32) };
    const first = openWorld(options);
    const outcome = await first.harness.runScript(
      `for (const to of ['${EVIL_ACCOUNT}', 'other account']) await tools.transfer({ to, amount: 1 });`,
      { origin },
    );
    const { approvalId } = asked(outcome);
    const second = openWorld(options);
    const next = await second.harness.resume(outcome.scriptId, { [approvalId]: 'approve' });
    expect(asked(next)).toMatchObject({
      input: { to: 'other account' },
      provenance: { literals: { to: 'tainted-model' } },
    });
    expect(second.world.transfers).toHaveLength(1);
  });

  it('asks about a structured call, unless the destination stands in the user’s text', async () => {
    const { harness, world } = openWorld();
    const call = (to: string) => harness.callTool('transfer', { to, amount: 1 }, { origin });
    expect(await call(EVIL_ACCOUNT)).toMatchObject({
      status: 'awaiting_approval',
      pendingApprovals: [{ provenance: { status: 'proven', literals: { to: 'tainted-model' } } }],
    });
    expect(await call(USER_ACCOUNT)).toMatchObject({ status: 'completed' });
    expect(world.transfers).toHaveLength(1);
  });
});

describe('a script that continues the program of an earlier one', () => {
  const options = { scripts: 'one-program' as const, workers: { size: 1 } };

  it('asks about a destination in a variable that the earlier script has filled from a page', async () => {
    const { harness, world } = openWorld(options);
    const first = await harness.runScript(`${FETCH} const own = '${USER_ACCOUNT}'; return 'read';`);
    expect(first).toMatchObject({ status: 'completed', heap: expect.any(String) });
    const { heap } = first;
    asked(await harness.runScript(`await tools.transfer({ to: page.account, amount: 1 });`, { heap }));
    const origin = { userTexts: [], hasReadUntrusted: false, holdsUntrusted: true };
    asked(await harness.runScript(`await tools.transfer({ to: page.account, amount: 1 });`, { heap, origin }));
    expect(world.transfers).toEqual([]);
    await harness.runScript(`await tools.transfer({ to: '${USER_ACCOUNT}', amount: 1 });`, { heap });
    expect(world.transfers).toHaveLength(1);
  });

  it('has labels up to where it uses a variable of an earlier one', async () => {
    const { harness, world } = openWorld(options);
    const { heap } = await harness.runScript(`${FETCH} const own = 'NO' + 1; let count = 0; return 'read';`);
    const origin = { userTexts: [], hasReadUntrusted: false, holdsUntrusted: true };
    const run = (source: string) => harness.runScript(source, { heap, origin });
    const computed = await run(`const page = await tools.readPage({ url: 'https://shop.example' });
await tools.transfer({ to: ['NO', 93].join('-'), amount: 1, subject: page.text });
await tools.transfer({ to: page.account.trim(), amount: 2 });`);
    expect(world.transfers).toMatchObject([{ to: 'NO-93' }]);
    expect(asked(computed).provenance).toMatchObject({
      status: 'proven',
      reasons: { to: 'comes from readPage (line 1), which is untrusted' },
    });
    for (const use of ['own', 'page.account.trim()', '(count += 1, "NO" + count)', '`${typeof own}`'])
      expect(asked(await run(`await tools.transfer({ to: ${use} + '', amount: 3 });`)).provenance, use).toMatchObject({
        status: 'unknown',
      });
    expect(world.transfers).toHaveLength(1);
  });

  it('is asked in the same answer, too', async () => {
    const { harness, world } = openWorld(options);
    const answer = `<tool-calls>\n${FETCH}\n</tool-calls>\n<tool-calls>\nawait tools.transfer({ to: page.account, amount: 1 });\n</tool-calls>`;
    const outcomes: Outcome[] = [];
    for await (const _ of harness.processText(answer, { onOutcome: (outcome) => outcomes.push(outcome) })) continue;
    expect(outcomes.map(({ status }) => status)).toEqual(['completed', 'suspended']);
    expect(world.transfers).toEqual([]);
  });
});

describe('the policy of a host about sources', () => {
  it('denies, and the model reads which argument and why', async () => {
    const { harness } = openWorld({ flow: (_call, { reasons }) => ('to' in reasons ? 'deny' : 'allow') });
    const outcome = await harness.runScript(`${FETCH} await tools.transfer({ to: page.account, amount: 1 });`);
    expect(outcome.error).toMatchObject({ code: 'ApprovalDeniedError' });
    expect(outcome.error?.message).toContain('the argument "to" comes from readPage');
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['answers something else', () => 'yes' as never],
  ])('asks if it %s', async (_name, flow) => {
    const { harness } = openWorld({ flow });
    asked(await harness.runScript(`await tools.transfer({ to: 'A', amount: 1 });`));
  });

  it('never loosens the approval policy', async () => {
    const denied = openWorld({ approvals: 'deny', flow: () => 'allow' });
    expect((await denied.harness.runScript(`await tools.transfer({ to: 'A', amount: 1 });`)).error?.code).toBe(
      'ApprovalDeniedError',
    );
    const ruled = openWorld({ approvals: [{ tool: 'transfer', action: 'ask' }], flow: () => 'allow' });
    asked(await ruled.harness.runScript(`await tools.transfer({ to: 'A', amount: 1 });`));
    const doubtful = openWorld({ flow: () => 'allow' });
    asked(await doubtful.harness.runScript(`${FETCH} await tools.transfer({ to: page.account, amount: 1 });`));
  });

  it('is not called for reads', async () => {
    const tools: string[] = [];
    const { harness } = openWorld({ flow: ({ tool }) => (tools.push(tool), 'allow') });
    await harness.runScript(`${FETCH} await tools.transfer({ to: 'A', amount: 1 });`);
    expect(tools).toEqual(['transfer']);
  });
});

describe('an approval rule about untrusted sources', () => {
  const approvals = [
    { tool: 'transfer', from: 'untrusted' as const, action: 'deny' as const },
    { action: 'approve' as const },
  ];

  it('denies a destination that a page has chosen, and no other', async () => {
    const { harness, world } = openWorld({ approvals });
    await harness.runScript(`await tools.transfer({ to: '${USER_ACCOUNT}', amount: 1 });`);
    expect(world.transfers).toHaveLength(1);
    const outcome = await harness.runScript(`${FETCH} await tools.transfer({ to: page.account, amount: 1 });`);
    expect(outcome.error?.message).toContain('the argument "to" comes from readPage');
    expect(world.transfers).toHaveLength(1);
  });

  it('cannot approve', () => {
    expect(() => openWorld({ approvals: [{ from: 'untrusted', action: 'approve' }] })).toThrow(
      '"from" of approval rule 1',
    );
  });
});

import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, memoryStore, type HarnessOptions } from '#core/index.js';
import type { ApprovalRequest, ApprovalRule, Decision } from '#core/protocol/index.js';
import { decideAll, failureOf, open, suspended, valueOf, type Effects } from './world.js';

const ASKS = 'return (await tools.note({ text: "a" })).noted';

describe('a harness in a mode without execution', () => {
  it.each(['disabled', 'dry-run'] as const)('resumes no script: %s', async (mode) => {
    const effects: Effects = [];
    const store = memoryStore();
    const waiting = suspended(await open({ effects, store }).runScript(ASKS));
    const decisions = decideAll(waiting, 'approve');
    const still = open({ effects, store, mode });
    for (const outcome of [
      await still.resume(waiting.suspension, decisions),
      await still.recover(waiting.scriptId, { approvals: 'auto' }),
    ])
      expect(failureOf(outcome)).toMatchObject({ code: 'ScriptDisabledError', message: expect.stringContaining(mode) });
    for await (const _event of still.resumeText(waiting.suspension, decisions));
    expect(effects).toEqual([]);
    // The refused attempt consumed nothing.
    expect(valueOf(await open({ effects, store }).resume(waiting.suspension, decisions))).toBe('a');
    expect(effects).toEqual(['script: a']);
  });

  it('makes no structured call in a dry run, and still checks it', async () => {
    const effects: Effects = [];
    const harness = open({ effects, mode: 'dry-run', approvals: 'auto' });
    const planned = await harness.callTool('mark', { text: 'a' });
    // A call that needs no decision does not run either.
    expect([planned.status, (await harness.callTool('note', { text: 'a' })).status]).toEqual([
      'not_started',
      'not_started',
    ]);
    expect((await harness.callTool('mark', { txt: 'a' })).error?.code).toBe('ToolValidationError');
    expect(effects).toEqual([]);
  });
});

describe('a script of one principal', () => {
  it('is not seen, replayed or recovered by another', async () => {
    const store = memoryStore();
    const harness = open({ store });
    const { scriptId } = suspended(await harness.runScript(ASKS, { principal: 'ann' }));
    expect(await harness.inspect(scriptId)).toBeUndefined();
    expect(await harness.inspect(scriptId, { principal: 'bob' })).toBeUndefined();
    expect(await harness.inspect(scriptId, { principal: 'ann' })).toMatchObject({ source: ASKS });
    for (const who of [{}, { principal: 'bob' }])
      for (const outcome of [await harness.replay(scriptId, who), await harness.recover(scriptId, who)])
        expect(failureOf(outcome)).toMatchObject({ message: expect.stringContaining('another principal') });
  });
});

describe("a user's edit", () => {
  const NEVER_PROD: readonly ApprovalRule[] = [
    { tool: 'note', input: { text: 'prod*' }, action: 'deny' },
    { tool: 'note', action: 'ask' },
  ];
  const edit: Decision = { decision: 'approve', input: { text: 'prod-eu' } };

  it('follows the rules that forbid, while the script waits', async () => {
    const effects: Effects = [];
    const approvals = { rules: NEVER_PROD, ask: () => edit };
    expect(failureOf(await open({ effects, approvals }).runScript(ASKS))).toMatchObject({
      code: 'ApprovalDeniedError',
      message: expect.stringContaining('a rule forbids the user'),
    });
    expect(effects).toEqual([]);
  });

  it('follows them when it is part of a resume', async () => {
    const effects: Effects = [];
    const approvals: HarnessOptions['approvals'] = NEVER_PROD;
    const waiting = suspended(await open({ effects, approvals: { rules: NEVER_PROD } }).runScript(ASKS));
    const outcome = await open({ effects, approvals }).resume(waiting.suspension, decideAll(waiting, edit));
    expect(failureOf(outcome).code).toBe('ApprovalDeniedError');
    expect(effects).toEqual([]);
  });
});

describe('a decision for the plan', () => {
  async function asked(source: string): Promise<string[]> {
    const requests: ApprovalRequest[] = [];
    const effects: Effects = [];
    const approvals = (request: ApprovalRequest): Decision => {
      requests.push(request);
      return { decision: 'approve', remember: 'plan' };
    };
    valueOf(await open({ effects, approvals }).runScript(source));
    expect(effects.length).toBeGreaterThan(0);
    return requests.map(({ inputJson, planned }) => `${planned ? 'planned' : 'not planned'} ${inputJson}`);
  }

  it('covers the calls that the plan lists with their exact arguments, including defaults', async () => {
    const source =
      "for (let n = 0; n < 3; n++) await tools.note({ text: 'staging' });\nawait tools.note({ text: 'prod' });";
    expect(await asked(source)).toEqual(['planned {"text":"staging","by":"script"}']);
  });

  it.each([
    ['of the same call', "for (const text of ['staging', 'prod']) await tools.note({ text });"],
    [
      'of a call on the same line',
      "await tools.note({ text: 'staging' }); const t = 'prod'; await tools.note({ text: t });",
    ],
    [
      'from elsewhere on the line',
      "await tools.note({ text: 'staging' }); await [{ text: 'prod' }].map(tools.note)[0];",
    ],
  ])('covers no other arguments %s', async (_name, source) => {
    expect((await asked(source)).at(-1)).toBe('not planned {"text":"prod","by":"script"}');
  });

  it.each(['tools.pay_out({ to: "ann" })', 'tools["pay-out"]({ to: "ann" })'])(
    'covers a tool in every form of its name: %s',
    async (call) => {
      let asked = 0;
      const payOut = defineTool({
        name: 'pay-out',
        description: 'Has a name that is no identifier',
        effect: 'external',
        approval: 'always',
        input: z.object({ to: z.string() }),
        execute: ({ to }) => to,
      });
      const approvals = (): Decision => {
        asked += 1;
        return { decision: 'approve', remember: 'plan' };
      };
      const harness = open({ tools: [payOut], approvals });
      expect(valueOf(await harness.runScript(`await ${call};\nreturn await ${call};`))).toBe('ann');
      expect(asked).toBe(1);
    },
  );

  it('does not cover arguments that no text can show, even if they are the defaults', async () => {
    const planned: boolean[] = [];
    const stamp = defineTool({
      name: 'stamp',
      description: 'Has defaults for all that it takes',
      effect: 'external',
      approval: 'always',
      input: z.object({ by: z.string().default('script') }),
      execute: ({ by }) => by,
    });
    const approvals = (request: ApprovalRequest): Decision => {
      planned.push(request.planned);
      return 'approve';
    };
    const source = "const by = ['script'].join(); return await tools.stamp({ by })";
    expect(valueOf(await open({ tools: [stamp], approvals }).runScript(source))).toBe('script');
    expect(planned).toEqual([false]);
  });
});

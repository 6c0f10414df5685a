import { z } from 'zod';
import { describe, expect, it } from 'vitest';
import { defineTool, memoryStore, type ApprovalRequest, type Decision, type ToolEffect } from '#core/index.js';
import { decideAll, KEY, open, suspended, tapeOnly, tools, valueOf, type Effects } from './world.js';

/* An approval covers what was seen: a call that has changed since is asked about again, and says what changed. */

const SOURCE = `return await tools.deliver({ to: 'bob' })`;

interface TapeDelivery {
  readonly effects: Effects;
  readonly effect?: ToolEffect;
  readonly preview?: () => string;
  readonly texts?: () => Record<string, string>;
  readonly source?: string;
  readonly output?: string;
}

function deliver({ effects, effect = 'write', preview, texts, source, output = 'delivered' }: TapeDelivery) {
  return defineTool({
    name: 'deliver',
    description: 'Delivers a parcel',
    approval: 'always',
    effect,
    input: z.object({ to: z.string() }),
    ...(preview && { preview }),
    ...(texts && { references: texts }),
    ...(source !== undefined && { source }),
    execute: ({ to }) => {
      effects.push(`${output} to ${to}`);
      return output;
    },
  });
}

const changedIn = ([request]: readonly ApprovalRequest[]) => request?.changed?.map(({ what }) => what);

describe('an approval of a suspended call', () => {
  it.each<[string, Omit<TapeDelivery, 'effects'>, string[]]>([
    ['another effect', { effect: 'external' }, ['the text shown', 'the effect']],
    ['another preview', { preview: () => 'launch' }, ['the text shown']],
    ['another source', { source: 'server 2' }, ['the source of the tool']],
    ['another text', { texts: () => ({ 'the file "plan"': 'new' }) }, ['the file "plan"']],
  ])('does not cover a tool with %s', async (_how, change, what) => {
    const effects: Effects = [];
    const first = { source: 'server 1', texts: () => ({ 'the file "plan"': 'old' }), effects };
    const store = memoryStore();
    const harness = open({ store, tools: [deliver(first)] });
    const asked = suspended(await harness.runScript(SOURCE));
    harness.tools.replace(['deliver'], [deliver({ ...first, ...change, output: 'launched' })]);
    const again = suspended(await harness.resume(asked.scriptId, decideAll(asked, 'approve')));
    expect(effects).toEqual([]);
    expect(changedIn(again.pendingApprovals)).toEqual(what);
    expect(again.pendingApprovals[0]!.digest).not.toBe(asked.pendingApprovals[0]!.digest);
    expect(valueOf(await harness.resume(again.scriptId, decideAll(again, 'approve')))).toBe('launched');
  });

  it('covers the same tool in another process, restored or replayed', async () => {
    const effects: Effects = [];
    const asked = suspended(await open({ tools: [deliver({ effects })] }).runScript(SOURCE));
    const harness = open({ tools: [deliver({ effects })], suspensionKey: KEY });
    expect(valueOf(await harness.resume(asked.suspension, decideAll(asked, 'approve')))).toBe('delivered');
    const other = suspended(await open({ tools: [deliver({ effects })] }).runScript(SOURCE));
    const replaying = open({ tools: [deliver({ effects })], runtime: tapeOnly() });
    expect(valueOf(await replaying.resume(other.suspension, decideAll(other, 'approve')))).toBe('delivered');
  });

  it('does not cover edited arguments for another tool', async () => {
    const effects: Effects = [];
    const harness = open({ tools: [deliver({ effects })] });
    const asked = suspended(await harness.runScript(SOURCE));
    harness.tools.replace(['deliver'], [deliver({ effects, effect: 'external' })]);
    const edited: Decision = { decision: 'approve', input: { to: 'eve' } };
    const again = suspended(await harness.resume(asked.suspension, decideAll(asked, edited)));
    expect(effects).toEqual([]);
    expect(valueOf(await harness.resume(again.suspension, decideAll(again, 'approve')))).toBe('delivered');
    expect(effects).toEqual(['delivered to eve']);
  });

  it('that is remembered does not cover another tool of the same name', async () => {
    const effects: Effects = [];
    const harness = open({ tools: [deliver({ effects }), ...tools(effects)] });
    const remember: Decision = { decision: 'approve', remember: 'script' };
    const first = suspended(
      await harness.runScript(
        `await tools.deliver({ to: 'a' }); await tools.note({ text: 'x' }); return await tools.deliver({ to: 'b' })`,
      ),
    );
    const second = suspended(await harness.resume(first.suspension, decideAll(first, remember)));
    harness.tools.replace(['deliver'], [deliver({ effects, effect: 'external' })]);
    const third = suspended(await harness.resume(second.suspension, decideAll(second, 'approve')));
    expect(third.pendingApprovals.map(({ tool }) => tool)).toEqual(['deliver']);
    expect(effects).toEqual(['delivered to a', 'script: x']);
  });
});

describe('an approval of a running call', () => {
  it('does not cover what changed while the user read it or while the call was queued', async () => {
    const effects: Effects = [];
    const requests: ApprovalRequest[] = [];
    let text = 'old';
    const approvals = (request: ApprovalRequest): Decision => {
      requests.push(request);
      if (requests.length === 1) text = 'new';
      return 'approve';
    };
    const harness = open({ tools: [deliver({ effects, preview: () => text })], approvals });
    expect(valueOf(await harness.runScript(SOURCE))).toBe('delivered');
    expect(requests.map(({ rendered }) => rendered.split('\n')[1])).toEqual(['old', 'new']);
    expect(requests[1]!.changed).toEqual([
      { what: 'the text shown', before: expect.stringContaining('old'), after: expect.stringContaining('new') },
    ]);
    expect(effects).toHaveLength(1);
  });

  it('is refused if the call changes each time', async () => {
    const effects: Effects = [];
    let count = 0;
    const harness = open({
      tools: [deliver({ effects, preview: () => `${count++}` })],
      approvals: () => 'approve',
    });
    const outcome = await harness.runScript(`return await tools.deliver({ to: 'bob' }).catch(({ code }) => code)`);
    expect(valueOf(outcome)).toBe('ApprovalDeniedError');
    expect(effects).toEqual([]);
  });
});

describe('a decision for the script', () => {
  const FOUR = `return (await Promise.all(['a', 'b', 'c', 'd'].map((to) => tools.deliver({ to }).catch(({ code }) => code)))).join()`;
  const remember: Decision = { decision: 'approve', remember: 'script' };

  it('covers the calls that wait already, while the script runs', async () => {
    const effects: Effects = [];
    let asked = 0;
    let answerSecond: (decision: Decision) => void = () => {};
    const approvals = () => {
      asked += 1;
      const answer = new Promise<Decision>((resolve) => {
        if (asked === 2) answerSecond = resolve;
      });
      if (asked === 4) answerSecond(remember);
      return answer;
    };
    const harness = open({ tools: [deliver({ effects })], approvals });
    expect(valueOf(await harness.runScript(FOUR))).toBe('delivered,delivered,delivered,delivered');
    expect(effects).toHaveLength(4);
  });

  it.each([0, 1, 2, 3])('covers all that wait when the script is resumed with one about call %i', async (index) => {
    const effects: Effects = [];
    const harness = open({ tools: [deliver({ effects })] });
    const asked = suspended(await harness.runScript(FOUR));
    const { approvalId } = asked.pendingApprovals[index]!;
    const outcome = await harness.resume(asked.suspension, { [approvalId]: remember });
    expect(valueOf(outcome)).toBe('delivered,delivered,delivered,delivered');
  });

  it('denies the calls that wait already', async () => {
    const effects: Effects = [];
    const harness = open({ tools: [deliver({ effects })] });
    const asked = suspended(await harness.runScript(FOUR));
    const { approvalId } = asked.pendingApprovals[3]!;
    const outcome = await harness.resume(asked.suspension, { [approvalId]: { decision: 'deny', remember: 'script' } });
    expect(new Set(String(valueOf(outcome)).split(','))).toEqual(new Set(['ApprovalDeniedError']));
    expect(effects).toEqual([]);
  });
});

describe.each([0, 1, 1_000])('a script that is suspended after %i ms', (suspendAfterMs) => {
  it.each([
    ['restored', () => undefined],
    ['replayed', () => tapeOnly()],
  ])('makes progress with each decision, %s', async (_how, runtime) => {
    const effects: Effects = [];
    const approvals = () => new Promise<Decision>(() => {});
    const options = { effects, approvals, suspendAfterMs };
    const own = runtime();
    const harness = open(own === undefined ? options : { ...options, runtime: own });
    let outcome = await harness.runScript(`
      const [a, b] = await Promise.all([tools.note({ text: 'a' }), tools.note({ text: 'b' })]);
      const c = await tools.note({ text: 'c' });
      return [a, b, c].length;`);
    for (let hop = 0; outcome.status === 'suspended' && hop < 5; hop++) {
      const [{ approvalId } = { approvalId: '' }] = outcome.pendingApprovals;
      outcome = await harness.resume(outcome.suspension, { [approvalId]: 'approve' });
      expect(effects).toHaveLength(hop + 1);
    }
    expect(valueOf(outcome)).toBe(3);
    expect(effects).toEqual(['script: a', 'script: b', 'script: c']);
  });
});

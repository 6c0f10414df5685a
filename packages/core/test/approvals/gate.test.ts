import { describe, expect, it, vi } from 'vitest';
import * as fc from 'fast-check';
import { createGate } from '#core/calls/approvals/gate.js';
import { matchesPattern } from '#core/calls/approvals/pattern.js';
import { ToolscriptUsageError } from '#core/protocol/errors.js';
import { MAX_TIMER_MS } from '#core/protocol/limited-signal.js';
import { defineTool } from '#core/tools/define-tool.js';
import type { ApprovalPolicy, ApprovalRequest, ApprovalRule } from '../../src/protocol/approvals.js';
import type { GateCall, GateDecision } from '../../src/protocol/approval-gate.js';
import { contextWith } from '../support/run-context.js';

const nothing: () => void = () => undefined;

/** The gate of a structured call, which does not wait for a suspension. */
const gateOf = (approvals: ApprovalPolicy | undefined, approvalTimeoutMs: number) =>
  createGate(contextWith({ approvals, limits: { approvalTimeoutMs } }));

function toolWith(extra: object = {}) {
  return defineTool({
    name: 'exec',
    description: 'Runs.',
    effect: 'external',
    inputSchema: { type: 'object', additionalProperties: true },
    execute: () => null,
    ...extra,
  } as never);
}

interface Asked {
  tool?: ReturnType<typeof toolWith>;
  input?: object;
  signal?: AbortSignal;
  onRequest?: (request: ApprovalRequest) => void;
}

function callOf({
  tool = toolWith(),
  input = {},
  signal = new AbortController().signal,
  onRequest = nothing,
}: Asked = {}): GateCall {
  const inputJson = JSON.stringify(input);
  return {
    tool,
    callId: 'c1',
    scriptId: 's1',
    context: contextWith({ principal: 'ann', app: { a: 1 } }),
    input: JSON.parse(inputJson),
    inputJson,
    plan: [],
    signal,
    onRequest,
    onParked: nothing,
  };
}

async function decide(policy: ApprovalPolicy | undefined, asked: Asked = {}): Promise<string> {
  const decision = await gateOf(policy, 1_000).decide(callOf(asked));
  return summary(decision);
}

function summary(decision: GateDecision | undefined): string {
  return decision === undefined ? 'free' : `${decision.decision} by ${decision.by}`;
}

const withPredicate = (approval: unknown) => decide('deny', { tool: toolWith({ approval }), input: { n: 1 } });

describe('a rule about arguments that are lists', () => {
  const deny = (input: object): ApprovalRule[] => [
    { tool: 'exec', input: input as never, action: 'deny' },
    { tool: 'exec', action: 'approve' },
  ];
  it.each<[string, object, object]>([
    ['a pattern for the value', { command: '*prod*' }, { command: ['deploy', 'to-prod-eu'] }],
    ['a pattern for the value, in a list of lists', { command: '*prod*' }, { command: [['deploy', ['prod']]] }],
    ['a path through the list', { 'files.path': '/etc/*' }, { files: [{ path: 'a' }, { path: '/etc/passwd' }] }],
    ['a value that is no text', { ids: 7 }, { ids: [1, 7] }],
    ['an object', { targets: { env: 'prod' } }, { targets: [{ env: 'dev' }, { env: 'prod' }] }],
    ['an object with a list', { target: { env: 'prod*' } }, { target: { env: ['dev', 'prod-eu'] } }],
  ])('forbids what an entry says: %s', async (_name, pattern, input) => {
    expect(await decide(deny(pattern), { input })).toBe('deny by rule');
  });

  it('approves only if the whole value matches', async () => {
    const approve: ApprovalRule[] = [{ tool: 'exec', input: { command: 'ls' }, action: 'approve' }];
    expect(await decide(approve, { input: { command: ['ls', '; rm -rf ~'] } })).toBe('deny by policy');
    expect(await decide(approve, { input: { command: 'ls' } })).toBe('approve by rule');
  });
});

describe('a rule about the alias of an argument', () => {
  it('applies to the argument', async () => {
    const tool = toolWith({
      inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
      aliases: { filePath: 'path' },
    });
    const rules: ApprovalRule[] = [{ input: { filePath: '/etc/*' }, action: 'deny' }, { action: 'approve' }];
    expect(await decide(rules, { tool, input: { path: '/etc/passwd' } })).toBe('deny by rule');
    expect(await decide(rules, { tool, input: { path: 'notes.md' } })).toBe('approve by rule');
  });
});

describe('the need for a decision', () => {
  it.each([
    ['never', 'external', 'free'],
    ['never', 'read', 'free'],
    ['policy', 'read', 'free'],
    ['policy', 'write', 'approve by policy'],
    ['policy', 'external', 'approve by policy'],
    ['always', 'read', 'approve by policy'],
  ])('approval %s with effect %s: %s', async (approval, effect, expected) => {
    expect(await decide('auto', { tool: toolWith({ approval, effect }) })).toBe(expected);
  });

  it('is decided by a predicate; a throw, a rejection and an invalid answer mean yes', async () => {
    expect(await withPredicate(() => false)).toBe('free');
    expect(await withPredicate(() => true)).toBe('deny by policy');
    expect(await withPredicate(async () => false)).toBe('free');
    expect(
      await withPredicate(() => {
        throw new Error('x');
      }),
    ).toBe('deny by policy');
    expect(await withPredicate(() => Promise.reject(new Error('x')))).toBe('deny by policy');
    expect(await withPredicate(nothing)).toBe('deny by policy');
    const seen = vi.fn(() => false);
    await withPredicate(seen);
    expect(seen).toHaveBeenCalledWith({ n: 1 }, { tool: 'exec', principal: 'ann', app: { a: 1 } });
  });

  it('is dropped when the call is aborted', async () => {
    const controller = new AbortController();
    const pending = decide('auto', {
      tool: toolWith({ approval: () => new Promise(nothing) }),
      signal: controller.signal,
    });
    controller.abort();
    expect(await pending).toBe('cancelled by host');
  });

  it('is not decided for a call that was aborted before', async () => {
    const predicate = vi.fn(() => false);
    expect(await decide('auto', { tool: toolWith({ approval: predicate }), signal: AbortSignal.abort() })).toBe(
      'cancelled by host',
    );
    expect(predicate).not.toHaveBeenCalled();
  });
});

describe('a policy', () => {
  it('approves with auto, denies with deny, and denies with a reason if there is none', async () => {
    expect(await decide('auto')).toBe('approve by policy');
    expect(await decide('deny')).toBe('deny by policy');
    const decision = await gateOf(undefined, 1).decide(callOf());
    expect(decision).toMatchObject({
      decision: 'deny',
      reason: 'Not approved: the call to exec: no approvals are configured here; the host can set "approvals".',
    });
  });

  it.each([
    [5],
    ['yes'],
    [{}],
    [{ rules: 'x' }],
    [{ rules: [], asks: 1 }],
    [{ rules: [], ask: 'x' }],
    [[null]],
    [[{ action: 'allow' }]],
    [[{ action: 'deny', tol: 'x' }]],
    [[{ action: 'deny', effect: 'all' }]],
    [[{ action: 'deny', tool: 5 }]],
    [[{ action: 'deny', input: [] }]],
  ])('that is invalid is rejected: %j', (policy) => {
    expect(() => gateOf(policy as never, 1)).toThrow(ToolscriptUsageError);
  });
});

const one = (rule: Partial<ApprovalRule>, asked: Asked = {}) => decide([{ action: 'approve', ...rule }], asked);

const touching = (...permissions: string[]) => ({ tool: toolWith({ permissions: () => permissions }) });

describe('rules', () => {
  const command = { command: ['git', 'status'], cwd: '/srv/app', deep: { n: 1, list: [{ a: 'x' }] } };

  it('decide by the first match, and deny without a match', async () => {
    const rules: ApprovalRule[] = [
      { tool: 'exec', input: { cwd: '/tmp*' }, action: 'deny' },
      { tool: 'ex*', action: 'approve' },
      { action: 'deny' },
    ];
    expect(await decide(rules, { input: command })).toBe('approve by rule');
    expect(await decide(rules, { input: { cwd: '/tmp/x' } })).toBe('deny by rule');
    expect(await decide(rules, { tool: toolWith({ name: 'other' }) })).toBe('deny by rule');
    expect(await decide([], {})).toBe('deny by policy');
  });

  it('match by tool, effect and values at paths', async () => {
    expect(await one({ effect: 'external' })).toBe('approve by rule');
    expect(await one({ effect: 'write' })).toBe('deny by policy');
    for (const input of [
      { 'command.0': 'git' },
      { command: ['git', 'st*'] },
      { cwd: '/srv/*' },
      { 'deep.n': 1 },
      { 'deep.list.0': { a: '*' } },
    ]) {
      expect(await one({ input }, { input: command })).toBe('approve by rule');
    }
    for (const input of [
      { 'command.0': 'gi' },
      { command: ['git'] },
      { command: 'git status' },
      { 'deep.n': '1' },
      { missing: '*' },
      { 'constructor.name': '*' },
      { cwd: '/srv/*', 'deep.n': 2 },
      { deep: { n: 1 } },
    ]) {
      expect(await one({ input }, { input: command })).toBe('deny by policy');
    }
  });

  it('approve by permission only if everything that the call touches matches', async () => {
    expect(await one({ permission: 'net:*' }, touching('net:a', 'net:b'))).toBe('approve by rule');
    expect(await one({ permission: 'net:*' }, touching('net:a', 'fs:b'))).toBe('deny by policy');
    expect(await one({ permission: 'net:*' }, touching())).toBe('deny by policy');
    expect(await one({ permission: 'net:*' }, {})).toBe('deny by policy');
  });

  it('deny by permission if one thing matches, or the tool cannot report it', async () => {
    const rules: ApprovalRule[] = [{ permission: 'net:evil*', action: 'deny' }, { action: 'approve' }];
    const touching = (permissions: unknown) => decide(rules, { tool: toolWith({ permissions }) });
    expect(await touching(() => ['net:good', 'net:evil.example'])).toBe('deny by rule');
    expect(await touching(() => ['net:good'])).toBe('approve by rule');
    expect(
      await touching(() => {
        throw new Error('x');
      }),
    ).toBe('deny by rule');
    expect(await touching(() => [1])).toBe('deny by rule');
    expect(await decide(rules)).toBe('approve by rule');
  });

  it('that forbid and name their subject apply to calls that need no decision too; others do not', async () => {
    const reading = {
      tool: toolWith({ name: 'readFile', effect: 'read', approval: 'never' }),
      input: { path: '/app/.env' },
    };
    expect(await decide([{ tool: 'readFile', input: { path: '*.env' }, action: 'deny' }], reading)).toBe(
      'deny by rule',
    );
    expect(
      await decide(
        [
          { tool: 'readFile', action: 'approve' },
          { tool: '*', action: 'deny' },
        ],
        reading,
      ),
    ).toBe('free');
    expect(await decide([{ action: 'deny' }], reading)).toBe('free');
    expect(await decide([{ tool: 'readFile', action: 'ask' }], reading)).toBe('free');
  });

  it('that ask reach the user, or deny if no user can be asked', async () => {
    const ask = vi.fn(() => 'approve' as const);
    expect(await decide({ rules: [{ tool: 'exec', action: 'ask' }], ask })).toBe('approve by person');
    const decision = await gateOf([{ action: 'ask' }], 1).decide(callOf());
    expect(decision).toMatchObject({ decision: 'deny', reason: expect.stringContaining('no user can be asked here') });
    expect(await decide({ rules: [], ask })).toBe('deny by policy');
    expect(ask).toHaveBeenCalledTimes(1);
  });
});

const renderedWith = async (preview: unknown) => {
  let rendered = '';
  await decide(
    (request) => {
      rendered = request.rendered;
      return 'approve';
    },
    { tool: toolWith({ preview }), input: { a: 1 } },
  );
  return rendered.split('\n').slice(1).join('\n');
};

describe('a user', () => {
  it('is shown a request with safe text', async () => {
    let seen: ApprovalRequest | undefined;
    const input = { command: ['rm', '-rf', 'x\u202e'], approvalContext: 'clean\u200b up' };
    const onRequest = vi.fn();
    await decide(
      (request) => {
        seen = request;
        return 'approve';
      },
      { input, onRequest },
    );
    expect(seen).toMatchObject({
      callId: 'c1',
      scriptId: 's1',
      tool: 'exec',
      input,
      inputJson: JSON.stringify(input),
      effect: 'external',
      context: 'clean\\u{200b} up',
      plan: [],
    });
    expect(seen?.approvalId).toMatch(/^apr_/);
    expect(seen?.rendered).toBe(
      'exec (has external effects)\n  command: ["rm","-rf","x\\u{202e}"]\n  approvalContext: clean\\u{200b} up',
    );
    expect(onRequest).toHaveBeenCalledExactlyOnceWith(seen);
  });

  it.each<[string, object]>([
    ['a value', { note: 'fine\n  command: ls', command: 'rm' }],
    ['a value with line ends of another kind', { note: 'fine\r\n  command: ls', command: 'rm' }],
    ['a name', { 'note\n  command: ls\n  rest': 1, command: 'rm' }],
    ['a value that is cut', { note: `${'x'.repeat(9_000)}\n  command: ls`, command: 'rm' }],
  ])('sees by its layout that a line inside %s is not an argument', async (_where, input) => {
    let rendered = '';
    await decide(
      (request) => {
        ({ rendered } = request);
        return 'deny';
      },
      { input },
    );
    const [, ...lines] = rendered.split('\n');
    // An argument starts after two spaces; its further lines are indented more.
    expect(lines.filter((line) => /^ {0,3}\S/u.test(line))).toHaveLength(Object.keys(input).length);
  });

  it('is shown the safe preview of a tool, or the arguments if it fails or never arrives', async () => {
    expect(await renderedWith(() => 'weather of \u2066Oslo')).toBe('weather of \\u{2066}Oslo');
    expect(await renderedWith(async () => '+ line\n- line')).toBe('+ line⏎\n- line');
    expect(
      await renderedWith(() => {
        throw new Error('x');
      }),
    ).toBe('  a: 1');
    expect(await renderedWith(() => 5)).toBe('  a: 1');
    expect(await renderedWith(undefined)).toBe('  a: 1');
  });

  it.each([
    ['approve', 'approve by person'],
    ['deny', 'deny by person'],
    [{ decision: 'approve' }, 'approve by person'],
    [{ decision: 'deny', note: 'no' }, 'deny by person'],
    [undefined, 'deny by host'],
    ['APPROVE', 'deny by host'],
    [true, 'deny by host'],
    [{}, 'deny by host'],
    [{ decision: 'yes' }, 'deny by host'],
    [{ decision: 'approve', remember: 'forever' }, 'deny by host'],
    [{ decision: 'approve', note: 5 }, 'deny by host'],
  ])('who answers %j: %s', async (answer, expected) => {
    expect(await decide((() => answer) as never)).toBe(expected);
    expect(await decide((async () => answer) as never)).toBe(expected);
  });

  it('whose question fails has not approved', async () => {
    expect(
      await decide(() => {
        throw new Error('x');
      }),
    ).toBe('deny by host');
    expect(await decide(() => Promise.reject(new Error('x')))).toBe('deny by host');
  });

  it.each<[string, unknown]>([
    ['a text', 'soon'],
    ['no finite number', Number.NaN],
    ['a date', new Date()],
  ])('whose answer expires at %s has not approved', async (_name, expiresAt) => {
    expect(await decide(() => ({ decision: 'approve', expiresAt }) as never)).toBe('deny by host');
  });

  it('who does not answer has not approved, and no resource stays allocated', async () => {
    const gate = gateOf(() => new Promise(nothing), 5);
    expect(await gate.decide(callOf())).toMatchObject({
      decision: 'timeout',
      by: 'clock',
      reason: 'No user decided about the call to exec within 5 ms. The host can raise limits.approvalTimeoutMs.',
    });
  });

  it('is not asked, or is ignored, after the call was aborted', async () => {
    const controller = new AbortController();
    let answer: (decision: 'approve') => void = nothing;
    const gate = gateOf(() => new Promise((resolve) => (answer = resolve)), 60_000);
    const pending = gate.decide(callOf({ signal: controller.signal }));
    await Promise.resolve();
    controller.abort();
    answer('approve');
    expect(summary(await pending)).toBe('cancelled by host');
    const ask = vi.fn(() => 'approve' as const);
    expect(summary(await gateOf(ask, 1).decide(callOf({ signal: controller.signal })))).toBe('cancelled by host');
    expect(ask).not.toHaveBeenCalled();
  });

  it('who was asked is ignored after the call was aborted', async () => {
    const controller = new AbortController();
    let answer: (decision: 'approve') => void = nothing;
    const ask = vi.fn(() => new Promise<'approve'>((resolve) => (answer = resolve)));
    const pending = gateOf(ask, 60_000).decide(callOf({ signal: controller.signal }));
    await vi.waitUntil(() => ask.mock.calls.length === 1);
    controller.abort();
    // The wait ends at once, and a later answer changes nothing.
    expect(summary(await pending)).toBe('cancelled by host');
    answer('approve');
    expect(summary(await pending)).toBe('cancelled by host');
  });

  it('who remembers an approval or a denial is not asked again about that tool in this script', async () => {
    for (const decision of ['approve', 'deny'] as const) {
      const ask = vi.fn(() => ({
        decision,
        remember: 'script' as const,
        ...(decision === 'approve' && { input: { edited: true } }),
      }));
      const gate = gateOf(ask, 1_000);
      const first = await gate.decide(callOf({ input: { n: 1 } }));
      const second = await gate.decide(callOf({ input: { n: 2 } }));
      expect(first).toMatchObject({
        decision,
        remember: 'script',
        ...(decision === 'approve' && { inputJson: '{"edited":true}' }),
      });
      expect(second).toMatchObject({ decision, by: 'person', ...(decision === 'approve' && { inputJson: '{"n":2}' }) });
      await gate.decide(callOf({ tool: toolWith({ name: 'other' }) }));
      expect(ask).toHaveBeenCalledTimes(2);
    }
  });

  it('remember: workspace is reported to the host and answers no other call', async () => {
    const ask = vi.fn(() => ({ decision: 'approve' as const, remember: 'workspace' as const }));
    const gate = gateOf(ask, 1_000);
    expect(await gate.decide(callOf({ input: { n: 1 } }))).toMatchObject({
      decision: 'approve',
      remember: 'workspace',
    });
    await gate.decide(callOf({ input: { n: 2 } }));
    expect(ask).toHaveBeenCalledTimes(2);
  });

  it('who remembered an approval does not override a rule that forbids', async () => {
    const rules: ApprovalRule[] = [{ input: { cwd: '/etc*' }, action: 'deny' }, { action: 'ask' }];
    const gate = gateOf({ rules, ask: () => ({ decision: 'approve', remember: 'script' }) }, 1_000);
    expect(summary(await gate.decide(callOf()))).toBe('approve by person');
    expect(summary(await gate.decide(callOf({ input: { cwd: '/etc/x' } })))).toBe('deny by rule');
  });
});

const small = (alphabet: string[]) =>
  fc.array(fc.constantFrom(...alphabet), { maxLength: 9 }).map((parts) => parts.join(''));

describe('a pattern', () => {
  it.each([
    ['a*c', 'abc', true],
    ['a*c', 'ac', true],
    ['a*c', 'abcd', false],
    ['*', '', true],
    ['a', 'ab', false],
    ['ab*ba', 'aba', false],
    ['.', 'x', false],
    ['a*', 'a\nb', true],
    ['*a*a*', 'a', false],
    ['', '', true],
  ])('%j on %j: %s', (pattern, text, expected) => {
    expect(matchesPattern(pattern, text)).toBe(expected);
  });

  it('agrees with the plain definition on every text', () => {
    const counts = { yes: 0, no: 0 };
    fc.assert(
      fc.property(small(['a', 'b', '*', '**']), small(['a', 'b']), (pattern, text) => {
        const expected = plainMatch(pattern, text);
        counts[expected ? 'yes' : 'no'] += 1;
        expect(matchesPattern(pattern, text)).toBe(expected);
      }),
      { numRuns: 5_000 },
    );
    expect(Math.min(counts.yes, counts.no)).toBeGreaterThan(100);
  });

  it('terminates on texts that make backtracking explode', () => {
    expect(matchesPattern('*a'.repeat(5_000) + 'b', 'a'.repeat(200_000))).toBe(false);
  });
});

function plainMatch(pattern: string, text: string): boolean {
  if (pattern === '') return text === '';
  if (pattern[0] !== '*') return text !== '' && text[0] === pattern[0] && plainMatch(pattern.slice(1), text.slice(1));
  for (let skipped = 0; skipped <= text.length; skipped++)
    if (plainMatch(pattern.slice(1), text.slice(skipped))) return true;
  return false;
}

describe('a question without a time limit', () => {
  it('waits longer than the longest timer', async () => {
    vi.useFakeTimers();
    try {
      let answer: (decision: 'approve') => void = nothing;
      const decided = gateOf(() => new Promise((resolve) => (answer = resolve)), MAX_TIMER_MS).decide(callOf());
      await vi.advanceTimersByTimeAsync(MAX_TIMER_MS + 1);
      answer('approve');
      expect(summary(await decided)).toBe('approve by person');
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('a call that an earlier process approved', () => {
  const forbidden = (policy: ApprovalPolicy, extra: object = {}) =>
    summary(gateOf(policy, 1_000).forbids(callOf({ tool: toolWith(extra) })));

  it('is forbidden by a policy that denies, unless it needs no decision', () => {
    expect(forbidden('deny')).toBe('deny by policy');
    expect(forbidden('deny', { approval: 'never' })).toBe('free');
    expect(forbidden('auto')).toBe('free');
  });

  it('is forbidden by a rule about its tool, even if it needs no decision, and not by one about its effect', () => {
    expect(forbidden([{ tool: 'exec', action: 'deny' }], { approval: 'never' })).toBe('deny by rule');
    expect(forbidden([{ effect: 'external', action: 'deny' }], { approval: 'never' })).toBe('free');
    expect(forbidden([{ effect: 'external', action: 'deny' }])).toBe('deny by rule');
  });
});

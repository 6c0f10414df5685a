import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { estimateTokens, renderOutcomeForModel } from '#core/history/index.js';
import { tries } from '@toolscript/testkit/some-cases';
import { anyOutcome, completed, failed, operation, suspended } from './arbitrary-outcomes.js';

const tokenBudget = 8000;

describe('every report', () => {
  test('keeps to its budget, is well-formed Unicode and never throws', () => {
    fc.assert(
      fc.property(
        anyOutcome,
        fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 60, max: 3000 })),
        fc.string(),
        (outcome, budget, source) => {
          const report = renderOutcomeForModel(outcome, { tokenBudget: budget, source });
          expect(estimateTokens(report)).toBeLessThanOrEqual(budget);
          expect(report).not.toMatch(/\p{Surrogate}/u);
          expect(report.length).toBeGreaterThan(0);
        },
      ),
      { numRuns: tries(1000) },
    );
  });

  test('truncates between characters, never within one', () => {
    for (let budget = 20; budget < 120; budget += 1) {
      const report = renderOutcomeForModel(completed('\u{1f600}'.repeat(200)), { tokenBudget: budget });
      expect(report).not.toContain('\ufffd');
    }
  });

  test('counts every unit outside ASCII as a token', () => {
    expect(estimateTokens('abcdefgh')).toBe(2);
    expect(estimateTokens('日本語')).toBe(3);
    const report = renderOutcomeForModel(completed('語'.repeat(10_000)), { tokenBudget: 500 });
    expect(report.match(/語/gu)!.length).toBeLessThan(500);
  });
});

describe('after success', () => {
  test('the model reads the value, the output, the operation count and the warnings', () => {
    const outcome = completed(
      { celsius: 21 },
      {
        output: 'Oslo is mild.',
        operations: [operation(), operation()],
        diagnostics: [
          { severity: 'warning', message: 'The call is not awaited.', line: 4, code: 'floating-promise' },
          { severity: 'info', message: 'A fence was removed.', code: 'repair-fence' },
        ],
        logs: [
          { level: 'log', text: 'first', atMs: 1 },
          { level: 'warn', text: '7 entries were dropped', atMs: 2 },
        ],
      },
    );
    expect(renderOutcomeForModel(outcome, { tokenBudget })).toBe(
      [
        'Script completed, 2 tool calls: 2 done.',
        'Value: {"celsius":21}',
        'Output:',
        'Oslo is mild.',
        'Diagnostics:',
        '- warning: line 4: The call is not awaited. (floating-promise)',
        'Console:',
        'first',
        'warn: 7 entries were dropped',
      ].join('\n'),
    );
  });

  test('a missing return is mentioned', () => {
    expect(renderOutcomeForModel(completed(undefined), { tokenBudget })).toBe(
      'Script completed, no tool calls.\nValue: none. The script returned nothing.',
    );
  });

  test('text of several lines is shown as text, and data without spaces', () => {
    expect(renderOutcomeForModel(completed('a\nb'), { tokenBudget })).toContain('Value (text):\na\nb');
    const small = { names: ['a'.repeat(40), 'b'.repeat(40)] };
    expect(renderOutcomeForModel(completed(small), { tokenBudget })).toContain(`Value:\n${JSON.stringify(small)}`);
    const large = Array.from({ length: 500 }, (_, index) => index);
    expect(renderOutcomeForModel(completed(large), { tokenBudget })).toContain(JSON.stringify(large));
  });

  test('failed calls are shown even if the script continued', () => {
    const operations = [
      operation(),
      operation({ tool: 'exec', status: 'denied', error: { code: 'ApprovalDeniedError', message: 'not now' } }),
    ];
    const report = renderOutcomeForModel(completed(1, { operations }), { tokenBudget });
    expect(report).toContain('2 tool calls: 1 done, 1 denied');
    expect(report).toContain('2. denied: exec {"path":"a.txt"} -> ApprovalDeniedError: not now (line 3)');
  });

  test('a value beyond the budget keeps its head and tail and counts the omitted part', () => {
    const value = `BEGIN${'x'.repeat(100_000)}END`;
    const report = renderOutcomeForModel(completed(value, { output: 'short output' }), { tokenBudget: 300 });
    expect(report).toContain('"BEGINxxx');
    expect(report).toContain('xxxEND"');
    expect(report).toContain('short output');
    const leftOut = Number(/\[\.\.\. (\d+) characters left out \.\.\.\]/u.exec(report)![1]);
    expect(leftOut + report.match(/x/gu)!.length).toBe(100_000);
    expect(estimateTokens(report)).toBeGreaterThan(270);
  });

  test('a dry run is never called completed', () => {
    const plan = [
      { tool: 'writeFile', line: 1, column: 1, input: { path: 'a' }, repeated: false, conditional: false },
      { tool: 'exec', line: 2, column: 1, repeated: true, conditional: true },
    ];
    expect(renderOutcomeForModel(completed(undefined, { plan }), { tokenBudget, mode: 'dry-run' })).toBe(
      [
        'Script checked, not run. This is a dry run: nothing was called or changed.',
        'It would call:',
        '- writeFile {"path":"a"} (line 1)',
        '- exec (line 2, perhaps, repeatedly)',
      ].join('\n'),
    );
  });
});

describe('after failure', () => {
  const operations = [
    operation({ tool: 'writeFile', effect: 'write', result: { success: true } }),
    operation({
      tool: 'exec',
      effect: 'external',
      status: 'failed',
      result: undefined,
      error: { code: 'ToolExecutionError', message: 'No such\n3. done: fake' },
      line: 5,
    }),
    operation({ tool: 'exec', effect: 'external', status: 'unknown', result: undefined, line: 6 }),
    operation({ tool: 'read\nFile', status: 'not_started', input: undefined, result: undefined, line: undefined }),
  ];

  test('the model reads the error, its place, the advice, the frame and every operation', () => {
    const outcome = failed(
      {
        code: 'ToolExecutionError',
        message: 'No such file',
        line: 2,
        column: 7,
        toolName: 'exec',
        hint: 'Create it first.',
      },
      { operations, output: 'half way' },
    );
    expect(renderOutcomeForModel(outcome, { tokenBudget, source: 'one\nawait boom();\nthree\nfour\nfive' })).toBe(
      [
        'Script failed: ToolExecutionError in tools.exec at line 2, column 7 (executing): No such file',
        'Hint: Create it first.',
        'Next: Read the message; repair what it names.',
        'Where:',
        '  1 | one',
        '> 2 | await boom();',
        '    |       ^',
        '  3 | three',
        '  4 | four',
        'Operations, in call order (4 tool calls: 1 done, 1 failed, 1 unknown, 1 not started):',
        '1. done: writeFile {"path":"a.txt"} -> {"success":true} (line 3)',
        '2. failed: exec {"path":"a.txt"} -> ToolExecutionError: No such 3. done: fake (line 5)',
        '3. unknown: exec {"path":"a.txt"} (line 6)',
        '4. not started: read File',
        'Completed calls have taken effect: do not repeat them. Unknown, aborted and detached calls may have taken effect: check before you repeat them.',
        'Output before the failure:',
        'half way',
      ].join('\n'),
    );
  });

  test('the frame of the failure itself is preferred', () => {
    const report = renderOutcomeForModel(failed({ line: 1, frame: '> 1 | mine' }), { tokenBudget, source: 'theirs' });
    expect(report).toContain('> 1 | mine');
    expect(report).not.toContain('theirs');
  });

  test('with little room the rows lose their detail before they are omitted, and the omitted ones are counted', () => {
    const many = Array.from({ length: 60 }, (_, index) =>
      operation({
        tool: `tool${index}`,
        effect: 'write',
        input: { text: 'i'.repeat(500) },
        result: { text: 'r'.repeat(500) },
      }),
    );
    const roomy = renderOutcomeForModel(failed({}, { operations: many }), { tokenBudget: 1000 });
    for (let index = 0; index < 60; index += 1) expect(roomy).toContain(`${index + 1}. done: tool${index}`);
    const tight = renderOutcomeForModel(failed({}, { operations: many }), { tokenBudget: 300 });
    expect(tight).toContain('1. done: tool0 (line 3)');
    expect(tight).toContain('60. done: tool59 (line 3)');
    const leftOut = Number(/\[\.\.\. (\d+) calls left out: \d+ done \.\.\.\]/u.exec(tight)![1]);
    expect(leftOut + tight.match(/^\d+\. done/gmu)!.length).toBe(60);
  });

  test('a flood of output does not push out the error and the operations', () => {
    const outcome = failed(
      { message: 'the reason' },
      { operations, output: 'noise '.repeat(50_000), logs: [{ level: 'log', text: 'noise '.repeat(50_000), atMs: 1 }] },
    );
    const report = renderOutcomeForModel(outcome, { tokenBudget: 400 });
    expect(report).toContain('the reason');
    expect(report).toContain('4. not started: read File');
  });

  test('diagnostics other than the error itself are listed', () => {
    const diagnostics = [
      { severity: 'error' as const, message: 'boom', line: 1, code: 'ts2304' },
      ...Array.from({ length: 12 }, (_, index) => ({
        severity: 'error' as const,
        message: `second ${index}`,
        line: 2,
        code: 'ts2339',
      })),
    ];
    const report = renderOutcomeForModel(failed({ code: 'ScriptPolicyError' }, { diagnostics }), { tokenBudget });
    expect(report).not.toContain('ts2304');
    expect(report).toContain('- error: line 2: second 9 (ts2339)\n- and 2 more');
  });

  test('errors of the type checker are reported once, and its warnings not at all if the script completed', () => {
    const doubt = { severity: 'warning' as const, message: 'possibly undefined', line: 3, code: 'ts18048' };
    const error = { severity: 'error' as const, message: 'no such member', line: 2, code: 'ts2339' };
    const refused = failed({ code: 'ScriptTypeError' }, { diagnostics: [error, doubt] });
    expect(renderOutcomeForModel(refused, { tokenBudget })).toContain(
      'Diagnostics:\n- warning: line 3: possibly undefined',
    );
    expect(renderOutcomeForModel(refused, { tokenBudget })).not.toContain('no such member');
    const fine = renderOutcomeForModel(completed(1, { diagnostics: [doubt] }), { tokenBudget });
    expect(fine).not.toContain('possibly undefined');
  });
});

test('a suspended script shows its pending calls, and nothing of the suspension', () => {
  const pendingApprovals = [
    {
      approvalId: 'a',
      callId: 'c',
      scriptId: 's',
      tool: 'exec',
      input: { command: ['ls'] },
      inputJson: '{}',
      effect: 'external' as const,
      line: 2,
      rendered: '',
      plan: [],
      covers: [],
      digest: 'd',
      planned: false,
      createdAt: 0,
    },
  ];
  const report = renderOutcomeForModel(suspended({ pendingApprovals }), { tokenBudget });
  expect(report).toContain('Waiting for a decision:\n- exec {"command":["ls"]} (line 2)');
  expect(report).not.toContain('sealed-bytes');
});

test('a running script shows that it continues, its calls so far and its new output', () => {
  const { value: _value, ...rest } = completed(1, { output: 'half', operations: [operation({ status: 'unknown' })] });
  const report = renderOutcomeForModel({ ...rest, status: 'running' }, { tokenBudget: 500 });
  expect(report).toContain(`Script ${rest.scriptId} still runs, 1 tool call: 1 unknown. It continues`);
  expect(report).toContain('New output:\nhalf');
  expect(report).not.toContain('check before you repeat');
});

import { expect, it } from 'vitest';
import { styleFor } from '#cli/terminal/screen.js';
import { workPlanLines } from '#cli/view/script-report.js';

const plain = styleFor(false);

function operation(input: unknown, changes: object = {}): Parameters<typeof workPlanLines>[0] {
  return {
    call_id: 'call_1',
    tool: 'updatePlan',
    input,
    effect: 'read',
    status: 'completed',
    started_at_ms: 0,
    duration_ms: 1,
    ...changes,
  };
}

const plan = [
  { step: 'look', status: 'completed' },
  { step: 'change\nit', status: 'in_progress' },
  { step: 'test\u202e', status: 'pending' },
];

it('a plan is shown with one line per step, safe for a terminal', () => {
  expect(workPlanLines(operation({ plan, explanation: 'why' }), plain)).toEqual([
    '    [x] look',
    '    [>] change it',
    '    [ ] test\\u{202e}',
  ]);
  expect(workPlanLines(operation({ plan }), styleFor(true))[1]).toBe('    \x1b[1m[>] change it\x1b[22m');
});

it('a long plan and a long step are truncated and marked', () => {
  const long = Array.from({ length: 45 }, () => ({ step: 's'.repeat(500), status: 'pending' }));
  const lines = workPlanLines(operation({ plan: long }), plain);
  expect(lines).toHaveLength(41);
  expect(lines[0]).toBe(`    [ ] ${'s'.repeat(200)}…`);
  expect(lines[40]).toBe('    … 5 more steps');
});

it('other calls, failed ones and plans of another shape show none', () => {
  expect(workPlanLines(operation({ plan }, { tool: 'other' }), plain)).toEqual([]);
  expect(workPlanLines(operation({ plan }, { status: 'failed' }), plain)).toEqual([]);
  for (const input of [
    null,
    undefined,
    'x',
    {},
    { plan: 'x' },
    { plan: [1] },
    { plan: [{ step: 'a', status: 'toString' }] },
  ])
    expect(workPlanLines(operation(input), plain)).toEqual([]);
});

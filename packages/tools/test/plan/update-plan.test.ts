import { expect, it } from 'vitest';
import { updatePlan } from '#tools/plan/update-plan.js';
import { refusal } from '../support/temporary-folder.js';

it('returns the plan unchanged', () => {
  const plan = [
    { step: 'look', status: 'completed' as const },
    { step: 'change', status: 'in_progress' as const },
    { step: 'test', status: 'pending' as const },
  ];
  expect(updatePlan({ plan, explanation: 'why' })).toEqual({
    success: true,
    content: 'Plan updated',
    plan,
    explanation: 'why',
  });
  expect(updatePlan({ plan: [] })).toEqual({ success: true, content: 'Plan updated', plan: [] });
});

it('allows one step in progress and names the others', async () => {
  const plan = ['a', 'b'].map((step) => ({ step, status: 'in_progress' as const }));
  const error = await refusal(() => updatePlan({ plan }));
  expect(error.message).toBe(
    "At most one step may be in_progress; the plan has 2: 'a', 'b'. Set the others to pending.",
  );
});

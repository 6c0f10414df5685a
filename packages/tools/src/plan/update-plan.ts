import { defineTool } from '@toolscript/core';
import type { Tool } from '@toolscript/core/protocol';
import { z } from 'zod';
import { failure } from '../failure.js';
import { SUCCESS } from '../success.js';

const PlanStep = z.object({ step: z.string().min(1), status: z.enum(['pending', 'in_progress', 'completed']) });

const UpdatePlanInput = z.object({
  explanation: z.string().optional(),
  plan: z.array(PlanStep).max(200),
});

const UpdatePlanOutput = z.object({
  success: SUCCESS,
  content: z.string().meta({ deprecated: true }),
  plan: z.array(PlanStep).meta({ deprecated: true }),
  explanation: z.string().optional().meta({ deprecated: true }),
});

export type UpdatePlanInput = z.input<typeof UpdatePlanInput>;
export type UpdatePlanResult = z.output<typeof UpdatePlanOutput>;

export function updatePlanTool(): Tool {
  return defineTool({
    name: 'updatePlan',
    description:
      'Records your work plan for the user to see. Send all of it each time; at most one step is in_progress.',
    input: UpdatePlanInput,
    output: UpdatePlanOutput,
    approval: 'never',
    effect: 'read',
    shows: 'plan',
    execute: (input) => updatePlan(input),
  });
}

/** Checks a plan. Throws a ToolCallError if more than one step is in progress. */
export function updatePlan({ plan, explanation }: UpdatePlanInput): UpdatePlanResult {
  const inProgress = plan.filter(({ status }) => status === 'in_progress');
  if (inProgress.length > 1) {
    throw failure(
      'plan',
      `At most one step may be in_progress; the plan has ${inProgress.length}: ${inProgress.map(({ step }) => `'${step}'`).join(', ')}. Set the others to pending.`,
    );
  }
  return { success: true, content: 'Plan updated', plan, ...(explanation === undefined ? {} : { explanation }) };
}

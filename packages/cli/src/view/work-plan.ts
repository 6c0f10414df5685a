import type { Style } from '../terminal/style.js';
import { visibleLine } from '../terminal/untrusted.js';
import type { Operation } from './call-lines.js';
import { counted } from './durations.js';

const MAX_STEPS = 40;
const MAX_STEP_LENGTH = 200;

/** The plan that a call to `updatePlan` has recorded, one line per step; none for other calls. */
export function workPlanLines({ tool, status, input }: Operation, style: Style): string[] {
  if (tool !== 'updatePlan' || status !== 'completed') return [];
  const steps = stepsOf(input);
  const left = steps.length - MAX_STEPS;
  const lines = steps.slice(0, MAX_STEPS).map((step) => stepLine(step, style));
  return left > 0 ? [...lines, `    ${style.dim(`… ${counted(left, 'more step')}`)}`] : lines;
}

interface Step {
  readonly step: string;
  readonly status: 'pending' | 'in_progress' | 'completed';
}

/** A host may have a tool of the same name with different arguments. */
function stepsOf(input: unknown): readonly Step[] {
  const plan: unknown = (input as { plan?: unknown } | null | undefined)?.plan;
  return Array.isArray(plan) && plan.every(isStep) ? plan : [];
}

function isStep(value: unknown): value is Step {
  const { step, status } = (value ?? {}) as { step?: unknown; status?: unknown };
  return typeof step === 'string' && typeof status === 'string' && Object.hasOwn(LOOKS, status);
}

const LOOKS: Readonly<Record<Step['status'], { box: string; mark: 'dim' | 'bold' | undefined }>> = {
  completed: { box: '[x]', mark: 'dim' },
  in_progress: { box: '[>]', mark: 'bold' },
  pending: { box: '[ ]', mark: undefined },
};

function stepLine({ step, status }: Step, style: Style): string {
  const { box, mark } = LOOKS[status];
  const line = visibleLine(step.slice(0, MAX_STEP_LENGTH));
  const text = `${box} ${line}${step.length > MAX_STEP_LENGTH ? '…' : ''}`;
  return `    ${mark === undefined ? text : style[mark](text)}`;
}

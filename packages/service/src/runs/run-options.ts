import { HARNESS_MODES, LimitChangesSchema, TraceContextSchema, type LimitsInput } from '@toolscript/core/protocol';
import { z } from 'zod';
import { ModelSettingsSchema } from './model-settings.js';

/** Overrides for one run. They only narrow the operator's configuration. */
export const RunOverridesSchema = z.strictObject({
  mode: z.enum(HARNESS_MODES).optional(),
  limits: LimitChangesSchema.optional(),
  /** The only tools that the run may use. */
  expose: z.array(z.string().min(1).max(256)).max(1000).optional(),
});

/** A submitter's options, as the run store keeps them. */
export const RunOptionsSchema = z.looseObject({
  agentId: z.string().optional(),
  model: z.string().optional(),
  overrides: RunOverridesSchema.optional(),
  /** The trace of the request that submitted the run. */
  trace: TraceContextSchema.optional(),
  settings: ModelSettingsSchema.optional(),
  /** True: the model summarises the conversation, and gives no answer. */
  compacts: z.boolean().optional(),
  /** The JSON Schema of the final answer. Default: the agent's own, or text. */
  outputSchema: z.record(z.string(), z.unknown()).optional(),
});
export type RunOptions = z.infer<typeof RunOptionsSchema>;

/** The overrides, each limited to its ceiling. */
export function narrowLimits(
  ceilings: Partial<LimitsInput>,
  changes: Partial<LimitsInput> | undefined,
): Partial<LimitsInput> {
  const bounded = Object.entries(changes ?? {}).map(([name, value]) => {
    const ceiling = ceilings[name as keyof LimitsInput];
    if (typeof value === 'boolean') return [name, value && ceiling === true];
    return [name, typeof ceiling === 'number' ? Math.min(ceiling, value as number) : value];
  });
  return Object.fromEntries(bounded) as Partial<LimitsInput>;
}

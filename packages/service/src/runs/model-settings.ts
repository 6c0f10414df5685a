import type { AgentConfig } from '@toolscript/core/agent';
import { REASONING_EFFORTS } from '@toolscript/core/internal';
import { z } from 'zod';

const FunctionToolSchema = z.strictObject({
  type: z.literal('function'),
  name: z.string(),
  description: z.string(),
  inputSchema: z.record(z.string(), z.unknown()),
});

/** A submitter's settings for the requests to the model, within the agent's limits. */
export const ModelSettingsSchema = z.strictObject({
  /** Appended to the thread's system text, for this run alone. */
  instructions: z.string().optional(),
  maxOutputTokens: z.number().int().min(1).optional(),
  temperature: z.number().min(0).optional(),
  reasoningEffort: z.enum(REASONING_EFFORTS).optional(),
  /** Functions that the submitter performs itself. */
  clientFunctions: z.array(FunctionToolSchema).optional(),
  toolChoice: z.union([z.literal('required'), z.strictObject({ name: z.string() })]).optional(),
  parallelToolCalls: z.boolean().optional(),
});
export type ModelSettings = z.infer<typeof ModelSettingsSchema>;

/**
 * The agent for one run. The agent's configuration takes precedence. The settings can only lower the configured maximum
 * output.
 */
export function withSettings(agent: AgentConfig, settings: ModelSettings = {}): AgentConfig {
  const { maxOutputTokens, temperature, reasoningEffort } = { ...settings, ...agentModelSettings(agent) };
  const lowest = Math.min(settings.maxOutputTokens ?? Infinity, maxOutputTokens ?? Infinity);
  return {
    ...agent,
    ...(temperature === undefined ? {} : { temperature }),
    ...(reasoningEffort === undefined ? {} : { reasoningEffort }),
    ...(lowest === Infinity ? {} : { maxOutputTokens: lowest }),
  };
}

function agentModelSettings(agent: AgentConfig): Partial<ModelSettings> {
  const { maxOutputTokens, temperature, reasoningEffort } = agent;
  const members = { maxOutputTokens, temperature, reasoningEffort };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** The system text of one run: the thread's system text, and the submitter's addition. */
export function withInstructions(system: string | undefined, settings: ModelSettings = {}): string | undefined {
  const parts = [system, settings.instructions].filter((part) => part !== undefined && part !== '');
  return parts.length === 0 ? undefined : parts.join('\n\n');
}

/** The settings that apply to every part of the run, even after it has resumed. */
export function sharedSettings({ clientFunctions, parallelToolCalls }: ModelSettings = {}) {
  return {
    clientFunctions,
    parallelToolCalls,
  };
}

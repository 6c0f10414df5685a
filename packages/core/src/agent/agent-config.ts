import { z } from 'zod';
import { LimitsSchema, ToolscriptUsageError } from '../protocol/index.js';

/** Which model an agent talks to. Whoever makes providers reads it. */
const ModelReferenceSchema = z.strictObject({
  /** The wire format: `openai-responses`, `openai-chat`, `anthropic-messages`. */
  api: z.string().min(1),
  /** As the provider names it. */
  model: z.string().min(1),
  baseUrl: z.url().optional(),
  /** The environment variable that holds the key. Never the key itself. */
  apiKeyEnv: z.string().min(1).optional(),
});

const count = z.number().int().min(1);

/** An agent: a model, how scripts come from it, and what bounds its runs. Plain data, so that it can be a file. */
export const AgentConfigSchema = z.strictObject({
  slug: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/u, 'a slug is lower-case letters, digits and any of . _ -'),
  /** For people. Default: the slug. */
  name: z.string().min(1).optional(),
  description: z.string().optional(),
  provider: ModelReferenceSchema.optional(),
  /** How scripts come: as a function's argument, as a custom tool's raw text, or as blocks in the answer's text. */
  carrier: z.enum(['tool', 'custom', 'text']).default('tool'),
  /** For scripts in text: the answer ends at a script's closing tag, or what the model says behind it is kept. */
  afterScript: z.enum(['stop', 'continue']).default('stop'),
  /** Behind the system text that teaches scripts. */
  instructions: z.string().optional(),
  /** Most tokens of the system text that teaches scripts. */
  instructionTokens: count.optional(),
  /** The tools that the harness should expose, and the pack. Whoever makes the harness reads them. */
  tools: z.array(z.string()).optional(),
  pack: z.string().optional(),
  /** Tools that the model may also call one by one. Where scripts are switched off, it may call all. */
  functions: z.union([z.enum(['none', 'all']), z.array(z.string())]).default('none'),
  mode: z.enum(['enabled', 'dry-run', 'disabled']).optional(),
  /** Changes to the limits of one script. */
  limits: LimitsSchema.partial().optional(),
  /** Go on with later scripts and calls of an answer after a script has failed. */
  continueOnError: z.boolean().default(false),
  /** Most answers of one run. */
  maxTurns: count.default(20),
  /** No further answer is asked for when a run has used so many tokens. */
  tokenBudget: count.optional(),
  maxOutputTokens: count.optional(),
  temperature: z.number().min(0).optional(),
  reasoningEffort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).optional(),
});

export type AgentInput = z.input<typeof AgentConfigSchema>;
export type AgentConfig = Readonly<z.infer<typeof AgentConfigSchema>>;

/** Throws a `ToolscriptUsageError` that names what is wrong. */
export function defineAgent(agent: AgentInput): AgentConfig {
  const parsed = AgentConfigSchema.safeParse(agent);
  if (parsed.success) return Object.freeze(parsed.data);
  const [issue] = parsed.error.issues;
  const where = issue!.path.map(String).join('.');
  throw new ToolscriptUsageError(`defineAgent: ${where === '' ? '' : `${where}: `}${issue!.message}`);
}

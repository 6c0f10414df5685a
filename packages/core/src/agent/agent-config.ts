import { z } from 'zod';
import { LimitChangesSchema, ToolscriptUsageError } from '../protocol/index.js';

/** Which model an agent talks to. Whoever makes providers reads it. */
const ModelReferenceSchema = z.strictObject({
  /** The wire format: `openai-responses`, `openai-chat`, `anthropic-messages`. */
  api: z.string().min(1),
  /** As the provider names it. */
  model: z.string().min(1),
  baseUrl: z.url().optional(),
  /** The environment variable that holds the key. Never the key itself. */
  apiKeyEnv: z.string().min(1).optional(),
  /** The key may go without encryption, over plain `http:`, to a host that is not this machine. */
  allowInsecureHttp: z.boolean().optional(),
});

const count = z.number().int().min(1);

const dollars = z.number().min(0);

/** What a million tokens cost, in US dollars. */
const PricesSchema = z.strictObject({
  input: dollars,
  output: dollars,
  /** Of input that came from the provider's cache, or was written there. Default: as other input. */
  cacheRead: dollars.optional(),
  cacheWrite: dollars.optional(),
});

export type Prices = Readonly<z.infer<typeof PricesSchema>>;

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
  limits: LimitChangesSchema.optional(),
  /** Go on with later scripts and calls of an answer after a script has failed. */
  continueOnError: z.boolean().default(false),
  /** Most answers of one run. */
  maxTurns: count.default(20),
  /** No further answer is asked for when a run has used so many tokens. */
  tokenBudget: count.optional(),
  /** No further answer is asked for when a run has cost so much, in US dollars. Needs `prices`. */
  costBudget: z.number().gt(0).optional(),
  prices: PricesSchema.optional(),
  /** Tokens that the model can take at once. A conversation that comes near it is summed up. */
  contextWindow: z.number().int().min(1000).optional(),
  maxOutputTokens: count.optional(),
  temperature: z.number().min(0).optional(),
  reasoningEffort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).optional(),
});

export type AgentInput = z.input<typeof AgentConfigSchema>;
export type AgentConfig = Readonly<z.infer<typeof AgentConfigSchema>>;

/** Throws a `ToolscriptUsageError` that names what is wrong. */
export function defineAgent(agent: AgentInput): AgentConfig {
  const parsed = AgentConfigSchema.safeParse(agent);
  if (parsed.success) return withPrices(parsed.data);
  const [issue] = parsed.error.issues;
  const where = issue!.path.map(String).join('.');
  throw new ToolscriptUsageError(`defineAgent: ${where === '' ? '' : `${where}: `}${issue!.message}`);
}

function withPrices(agent: AgentConfig): AgentConfig {
  if (agent.costBudget === undefined || agent.prices !== undefined) return Object.freeze(agent);
  throw new ToolscriptUsageError('defineAgent: costBudget needs prices: what a million tokens cost.');
}

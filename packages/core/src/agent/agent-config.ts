import { z } from 'zod';
import { LimitChangesSchema, ToolscriptUsageError } from '../protocol/index.js';
import { modelFacts } from '../protocol/known-models.js';
import { ownService, serviceWithKey, type ModelService } from '../protocol/model-services.js';

const milliseconds = z.number().int().min(1);

/** The model that an agent talks to. The code that creates providers reads these settings. */
const ModelReferenceSchema = z.strictObject({
  /** The wire format: `openai-responses`, `openai-chat`, `anthropic-messages`. */
  api: z.string().min(1),
  /** The provider's name for the model. */
  model: z.string().min(1),
  baseUrl: z.url().optional(),
  /** The name of the environment variable with the API key. This member never holds the key itself. */
  apiKeyEnv: z.string().min(1).optional(),
  /** Allows sending the key unencrypted, over plain `http:`, to a host other than this machine. */
  allowInsecureHttp: z.boolean().optional(),
  /** The program, with its arguments, whose output is the key. It runs without a shell. */
  apiKeyCommand: z.array(z.string()).min(1).optional(),
  /** The headers that are added to every request. */
  headers: z.record(z.string(), z.string()).optional(),
  /** The parameters that are added to the URL of every request: for example, `api-version` for Azure. */
  query: z.record(z.string(), z.string()).optional(),
  /** Members that are merged into the request body. A list, such as `tools`, is appended to the list in the body. */
  extraBody: z.record(z.string(), z.unknown()).optional(),
  retries: z
    .strictObject({
      maxRetries: z.number().int().min(0),
      baseDelayMs: milliseconds,
      maxDelayMs: milliseconds,
      maxRetryAfterMs: milliseconds,
    })
    .partial()
    .optional(),
  connectTimeoutMs: milliseconds.optional(),
  firstTokenTimeoutMs: milliseconds.optional(),
  idleTimeoutMs: milliseconds.optional(),
  answerTimeoutMs: milliseconds.optional(),
  totalTimeoutMs: milliseconds.optional(),
  /** The `service_tier` of every request. The published prices are those of the default tier. */
  serviceTier: z.string().min(1).optional(),
  /** The level of detail of the reasoning summary (`openai-responses`). */
  reasoningSummary: z.enum(['auto', 'concise', 'detailed', 'none']).optional(),
  /** Whether the service continues an answer whose connection was lost (`openai-responses`). */
  background: z.boolean().optional(),
  /** Whether the answer contains a summary of the thinking (`anthropic-messages`). */
  thinkingDisplay: z.enum(['summarized', 'omitted']).optional(),
});

/** The model that an agent talks to, as plain data. */
export type ModelReference = Readonly<z.infer<typeof ModelReferenceSchema>>;

const count = z.number().int().min(1);

const dollars = z.number().min(0);

/** The prices of a million tokens, in US dollars. */
const TokenPricesSchema = z.strictObject({
  input: dollars,
  output: dollars,
  /** The price of input that the provider reads from its cache. Default: the price of other input. */
  cacheRead: dollars.optional(),
  /** The price of input that the provider writes to its cache. Default: the price of other input. */
  cacheWrite: dollars.optional(),
});

const ModelPricesSchema = TokenPricesSchema.extend({
  /** The prices of a whole request whose input has more tokens than `above`. Default: the same prices. */
  long: TokenPricesSchema.extend({ above: count }).optional(),
});

const PricesSchema = ModelPricesSchema.extend({
  /** The prices of other models that a service may ask for the same answer, by model. Default: the same prices. */
  models: z.record(z.string(), ModelPricesSchema).optional(),
});

/** The prices of one model. */
export type ModelPrices = Readonly<z.infer<typeof ModelPricesSchema>>;

export type Prices = Readonly<z.infer<typeof PricesSchema>>;

/**
 * An agent: a model, the form in which the model's scripts arrive, and the limits of the agent's runs. An agent is
 * plain data, so a file can contain it.
 */
export const AgentConfigSchema = z.strictObject({
  slug: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9._-]{0,63}$/u,
      'a slug is 1 to 64 lower-case letters, digits and any of . _ -, and starts with a letter or digit',
    ),
  /** The name that users read. Default: the slug. */
  name: z.string().min(1).optional(),
  description: z.string().optional(),
  provider: ModelReferenceSchema.optional(),
  /**
   * The models that get a request if the model before them cannot answer it: the name of another model of the provider,
   * or another `provider`.
   */
  fallbacks: z.array(z.union([z.string().min(1), ModelReferenceSchema])).optional(),
  /** Models by which a submitter may replace the agent's own. Default: none. */
  models: z.array(z.string().min(1)).optional(),
  /**
   * The form in which scripts arrive: as a function's argument, as a custom tool's raw text, or as blocks in the
   * answer's text. `hosted`: the provider runs code that the model writes, and this code calls the tools.
   */
  carrier: z.enum(['tool', 'custom', 'text', 'hosted']).default('tool'),
  /**
   * For scripts in text: whether the answer ends at a script's closing tag (`stop`) or continues after the tag
   * (`continue`).
   */
  afterScript: z.enum(['stop', 'continue']).default('stop'),
  /**
   * The end of a run: the first answer without a script (`answer`), or also the first script that returns a value
   * (`script`), which then is the final answer, without another request.
   */
  finish: z.enum(['answer', 'script']).default('answer'),
  /** The agent's own text, which is appended to the system text that teaches scripts. */
  instructions: z.string().optional(),
  /** Maximum tokens of the system text that teaches scripts. */
  instructionTokens: count.optional(),
  /** The tools that the harness should expose. The code that creates the harness reads `tools` and `pack`. */
  tools: z.array(z.string()).optional(),
  pack: z.string().optional(),
  /**
   * Tools that the model may also call one by one. The model gets all tools if scripts are disabled, or if `carrier` is
   * `hosted`.
   */
  functions: z.union([z.enum(['none', 'all']), z.array(z.string())]).default('none'),
  /**
   * Lets the agent ask models and launch sub-agents. `names`: the agents that it may launch besides itself. The host
   * reads this member when it creates the harness: see `createSubAgents`. Default: off.
   */
  agents: z
    .strictObject({
      names: z.array(z.string()).optional(),
      maxDepth: z.number().int().min(1).max(8).optional(),
      maxAgents: count.optional(),
    })
    .optional(),
  mode: z.enum(['enabled', 'dry-run', 'disabled']).optional(),
  /**
   * `one-program`: each script of a conversation can use the variables of the scripts before it. The code that creates
   * the harness reads this member. Default: that of the harness.
   */
  scripts: z.enum(['separate', 'one-program']).optional(),
  /** Overrides of the limits of one script. */
  limits: LimitChangesSchema.optional(),
  /** True: the run continues with the later scripts and calls of an answer after a script has failed. */
  continueOnError: z.boolean().default(false),
  /** Maximum number of answers of one run. */
  maxTurns: count.default(20),
  /** The run requests no further answer after it has used this many tokens. */
  tokenBudget: count.optional(),
  /** The run requests no further answer after it has cost this much, in US dollars. Needs `prices`. */
  costBudget: z.number().gt(0).optional(),
  /** Default: the published standard prices of a known model. */
  prices: PricesSchema.optional(),
  /**
   * The size of the model's context window in tokens. The model summarises a conversation that nears this size.
   * Default: the published size of a known model.
   */
  contextWindow: z.number().int().min(1000).optional(),
  maxOutputTokens: count.optional(),
  temperature: z.number().min(0).optional(),
  reasoningEffort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).optional(),
});

export type AgentInput = z.input<typeof AgentConfigSchema>;
export type AgentConfig = Readonly<z.infer<typeof AgentConfigSchema>>;

/** Checks an agent. Throws a `ToolscriptUsageError` that names the invalid member. */
export function defineAgent(agent: AgentInput): AgentConfig {
  const parsed = AgentConfigSchema.safeParse(agent);
  if (parsed.success) {
    withModelFacts(parsed.data, parsed.data.provider?.model);
    return Object.freeze(parsed.data);
  }
  const [issue] = parsed.error.issues;
  const where = issue!.path.map(String).join('.');
  throw new ToolscriptUsageError('AGENT_INVALID', { problem: `${where === '' ? '' : `${where}: `}${issue!.message}` });
}

/**
 * The agent with the published prices and context window of the model that it runs on, where it sets none. Throws a
 * `ToolscriptUsageError` if it has a `costBudget` and the prices of the model are unknown.
 */
export function withModelFacts(agent: AgentConfig, model: string | undefined): AgentConfig {
  const names = [
    model ?? '',
    ...(agent.fallbacks ?? []).map((other) => (typeof other === 'string' ? other : other.model)),
  ];
  const windows = names.flatMap((name) => modelFacts(name).contextWindow ?? []);
  const { costBudget, prices = publishedPrices(agent, names) } = agent;
  const contextWindow = agent.contextWindow ?? (windows.length === 0 ? undefined : Math.min(...windows));
  if (costBudget !== undefined && prices === undefined) throw new ToolscriptUsageError('COST_BUDGET_WITHOUT_PRICES');
  return Object.freeze({ ...agent, prices, contextWindow });
}

/** The tiers at the published prices. */
const PUBLISHED_TIERS: readonly unknown[] = [undefined, 'default', 'auto', 'standard_only'];

/** The published prices of all models that may answer; undefined if those of one are unknown. */
function publishedPrices({ provider, fallbacks = [] }: AgentConfig, names: readonly string[]): Prices | undefined {
  const tiers = [provider, ...fallbacks].map((one) => (typeof one === 'object' ? one.serviceTier : undefined));
  const [own, ...others] = names.map((name) => modelFacts(name).prices);
  if (own === undefined || others.includes(undefined)) return undefined;
  if (tiers.some((tier) => !PUBLISHED_TIERS.includes(tier))) return undefined;
  if (others.length === 0) return own;
  return { ...own, models: Object.fromEntries(others.map((prices, index) => [names[index + 1]!, prices!])) };
}

/** The model of an agent, or the one that replaces it, then the models that get a request if it cannot answer. */
export function modelReferences({ provider, fallbacks = [] }: AgentConfig, model?: string): readonly ModelReference[] {
  if (provider === undefined) return [];
  const others = fallbacks.map((other) => (typeof other === 'string' ? { ...provider, model: other } : other));
  return [{ ...provider, model: model ?? provider.model }, ...others];
}

/**
 * Returns the name of the environment variable with the agent's API key. Returns undefined if the key does not come
 * from the environment.
 */
export function keyVariable(
  { provider }: Pick<AgentConfig, 'provider'>,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  if (provider === undefined || provider.apiKeyCommand !== undefined) return undefined;
  return provider.apiKeyEnv ?? agentService(provider, environment)?.keyVariable;
}

/**
 * The service that an agent without a `baseUrl` uses. A key that the agent itself names goes to no other service than
 * the vendor's, at the address that the environment sets. Undefined if the agent sets a `baseUrl`.
 */
export function agentService(
  { api, baseUrl, apiKeyEnv, apiKeyCommand }: ModelReference,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): ModelService | undefined {
  if (baseUrl !== undefined) return undefined;
  // defence: keys-go-to-their-service
  const namesKey = apiKeyEnv !== undefined || apiKeyCommand !== undefined;
  return namesKey ? ownService(api, environment) : serviceWithKey(api, environment);
}

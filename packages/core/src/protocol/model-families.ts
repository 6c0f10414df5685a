import type { ReasoningEffort } from './model.js';

/*
 * The facts about models. Each statement names the page that says it, and the day on which the page was read. A fact
 * that no page states is absent: then a request is sent as the caller made it. To refresh the data, see
 * docs/reference/providers.md.
 */

/** The values of `thinking.type` in Anthropic Messages. */
type ThinkingType = 'adaptive' | 'enabled' | 'disabled' | 'between_tools';

/** A kind of files besides images and text. */
export type FileKind = 'pdf' | 'audio';

/** US dollars for a million tokens. */
interface TokenPrices {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number | undefined;
  readonly cacheWrite?: number | undefined;
}

interface ModelPrices extends TokenPrices {
  /** The prices of a whole request whose input has more tokens than `above`. */
  readonly long?: (TokenPrices & { readonly above: number }) | undefined;
}

export interface ModelFacts {
  /** The efforts that the model accepts; empty if it never reasons. */
  readonly efforts?: readonly ReasoningEffort[] | undefined;
  /** The efforts that the model does not accept in Chat Completions, although it has them. */
  readonly effortsNotInChat?: readonly ReasoningEffort[] | undefined;
  /** When the model accepts a temperature. */
  readonly temperature?: 'always' | 'without-reasoning' | 'never' | undefined;
  /** Whether a request may demand a call. */
  readonly forcedToolChoice?: boolean | undefined;
  /** When the model accepts tools in Chat Completions. */
  readonly chatTools?: 'always' | 'without-reasoning' | 'never' | undefined;
  /** The values of `thinking.type` that the model accepts. */
  readonly thinking?: readonly ThinkingType[] | undefined;
  /** Whether the model thinks if the request does not mention thinking. */
  readonly thinksByDefault?: boolean | undefined;
  /** Whether the answer contains the text of the thinking if the request does not ask for it. */
  readonly thinkingDisplay?: 'summarized' | 'omitted' | undefined;
  /** Whether a part of a message can mark the end of a cached prefix (OpenAI). */
  readonly cacheBreakpoints?: boolean | undefined;
  /** Whether the service enforces a JSON Schema of the answer. */
  readonly structuredOutput?: boolean | undefined;
  /** The files that the model reads. */
  readonly files?: readonly FileKind[] | undefined;
  /** Tokens. */
  readonly contextWindow?: number | undefined;
  /** Tokens of an answer. */
  readonly maxOutputTokens?: number | undefined;
  /** The prices of the standard tier. */
  readonly prices?: ModelPrices | undefined;
  /** The last day of the model, as `YYYY-MM-DD`. */
  readonly shutdown?: string | undefined;
}

interface Statement extends ModelFacts {
  readonly source: string;
  /** The day on which the source was read, as `YYYY-MM-DD`. */
  readonly read: string;
  /** The models of the family whose files, limits, prices or last day the statement gives. Default: all. */
  readonly of?: readonly string[] | undefined;
}

/** Models that accept the same requests. */
export interface ModelFamily {
  readonly name: string;
  readonly vendor: 'openai' | 'anthropic';
  /** The names of the models, without a date and without the prefix of a platform. */
  readonly models: readonly string[];
  readonly statements: readonly Statement[];
}

const read = '2026-11-28';
const reread = '2026-11-29';
const OPENAI = 'https://developers.openai.com/api/docs';
const CLAUDE = 'https://platform.claude.com/docs/en';
/** The table of prices. `cacheWrite`: for 5 minutes. */
const CLAUDE_PRICES = { source: `${CLAUDE}/about-claude/pricing`, read: reread } as const;
/** Read from Anthropic's table of prices, with multiples for what a cache reads. */
const OLDER_CLAUDE_PRICES = {
  source: 'https://docs.rs/synaps/0.10.2/synaps_cli/pricing/index.html',
  read: reread,
} as const;
const ANTHROPIC_SDK = 'https://www.npmjs.com/package/@anthropic-ai/sdk/v/1.14.0';

const LOW_TO_MAX = ['low', 'medium', 'high', 'xhigh', 'max'] as const;
const NONE_TO_XHIGH = ['none', 'low', 'medium', 'high', 'xhigh'] as const;
const NONE_TO_MAX = ['none', ...LOW_TO_MAX] as const;

const OPENAI_LIMITS = { contextWindow: 1_050_000, maxOutputTokens: 128_000 };
const CLAUDE_LIMITS = { contextWindow: 1_000_000, maxOutputTokens: 128_000 };

/** "When reasoning effort is not none, remove temperature, top_p, and top_logprobs." */
const SAMPLING = { source: `${OPENAI}/guides/deployment-checklist`, read, temperature: 'without-reasoning' } as const;
/** A model that always reasons never takes them. */
const NO_SAMPLING = { ...SAMPLING, temperature: 'never' } as const;
/** "Function tools with reasoning_effort are not supported in /v1/chat/completions", since GPT-5.4. */
const CHAT_TOOLS = {
  source: 'https://community.openai.com/t/gpt-5-6-chat-completion-reasoning-effort-bug-behavior-change/1386454',
  read,
  chatTools: 'without-reasoning',
} as const;
/** GPT-6 Astra and GPT-6.1 Sol require Responses for tools. */
const RESPONSES_TOOLS = { source: `${OPENAI}/guides/deployment-checklist`, read, chatTools: 'never' } as const;

/**
 * "For requests with more than 272K input tokens, input and cache rates double and output costs 1.5 times the
 * short-context rate for the full request": https://developers.openai.com/api/docs/models/gpt-6.2-sol, read on
 * 2026-11-28. The other models with this context window have the same rule.
 */
function openAiPrices(prices: TokenPrices): ModelPrices {
  const { input, output, cacheRead = input, cacheWrite = input } = prices;
  const long = { input: 2 * input, output: (15 * output) / 10, cacheRead: 2 * cacheRead, cacheWrite: 2 * cacheWrite };
  return { ...prices, long: { above: 272_000, ...long } };
}

/** "Only supported by OpenAI GPT-5.6 and newer." */
const BREAKPOINTS = {
  source: 'https://openrouter.ai/docs/client-sdks/typescript/models/promptcacheoptions.md',
  read,
  cacheBreakpoints: true,
} as const;

/** "On models with vision capabilities, such as gpt-4o and later models." */
const PDFS = { source: `${OPENAI}/guides/file-inputs`, read, files: ['pdf'] } as const;
const NO_FILES = { ...PDFS, files: [] } as const;
/** "All active models support PDF processing." */
const PDFS_CLAUDE = { source: `${CLAUDE}/build-with-claude/pdf-support`, read, files: ['pdf'] } as const;

/** GPT-4o of August 2024 and later. */
const STRUCTURED = {
  source: 'https://docs.orq.ai/changelog/structured-outputs',
  read,
  structuredOutput: true,
} as const;
/** All models of Claude 4.5 and later. */
const STRUCTURED_CLAUDE = {
  source:
    'https://documentation.s3ns.fr/gemini-enterprise-agent-platform/models/partner-models/claude/structured-outputs?hl=de',
  read,
  structuredOutput: true,
} as const;

const DEPRECATIONS = { source: `${OPENAI}/deprecations`, read } as const;
const SHUTDOWNS_OF_OPENAI = {
  source:
    'https://dev.to/max_bob/openai-api-deprecations-2026-2027-every-shutdown-date-and-recommended-replacement-gpt-4o-2ffm',
  read,
} as const;
const SHUT_DOWN_IN_OCTOBER = {
  source: 'https://dev.to/importstatic/every-openai-model-shutdown-date-until-january-2027-and-what-replaces-it-1dfk',
  read,
  shutdown: '2026-10-23',
} as const;
const SHUT_DOWN_IN_APRIL = { source: 'https://dev.to/aidriftline', read, shutdown: '2027-04-01' } as const;
const NO_TEMPERATURE = {
  source: 'https://docs.activeviam.com/engine/python-sdk/6.2/api/atoti_ai_openai.ChatConfig',
  read,
  temperature: 'never',
} as const;

export const MODEL_FAMILIES: readonly ModelFamily[] = [
  {
    name: 'GPT-6.2',
    vendor: 'openai',
    models: ['gpt-6.2-sol', 'gpt-6.2-astra'],
    statements: [
      STRUCTURED,
      PDFS,
      BREAKPOINTS,
      { source: `${OPENAI}/models/gpt-6.2-sol`, read, efforts: LOW_TO_MAX, ...OPENAI_LIMITS },
      {
        source:
          'https://dev.to/aihubmix/gpt-62-drops-reasoning-on-prefix-edits-migrate-without-breaking-the-chain-18a7',
        read,
        temperature: 'never',
        chatTools: 'never',
      },
      {
        source:
          'https://dev.to/routerbase_com/4-request-validation-gotchas-when-migrating-openai-clients-to-gpt-62-reasoning-models-1aoc',
        read,
        effortsNotInChat: ['max'],
      },
      {
        source: `${OPENAI}/models/gpt-6.2-sol`,
        read,
        of: ['gpt-6.2-sol'],
        prices: openAiPrices({ input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 }),
      },
      {
        source: 'https://vercel.com/ai-gateway/models/gpt-6.2-astra',
        read,
        of: ['gpt-6.2-astra'],
        prices: openAiPrices({ input: 8, output: 40 }),
      },
    ],
  },
  {
    name: 'GPT-6.1 Sol',
    vendor: 'openai',
    models: ['gpt-6.1-sol'],
    statements: [
      STRUCTURED,
      PDFS,
      BREAKPOINTS,
      {
        source: 'https://dev.to/aihubmix/choosing-a-reasoning-effort-for-gpt-61-sol-low-to-max-4326',
        read,
        efforts: LOW_TO_MAX,
      },
      NO_SAMPLING,
      RESPONSES_TOOLS,
      {
        source: 'https://docs.laozhang.ai/en/announcements/gpt-6-chat-tools-2026-11',
        read,
        effortsNotInChat: ['max'],
      },
      {
        source: 'https://dev.to/hassann/how-to-use-gpt-61-sol-apl--45cg',
        read,
        ...OPENAI_LIMITS,
        prices: openAiPrices({ input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 }),
      },
    ],
  },
  {
    name: 'GPT-6 Astra',
    vendor: 'openai',
    models: ['gpt-6-astra'],
    statements: [
      STRUCTURED,
      PDFS,
      BREAKPOINTS,
      {
        source: 'https://docs.litellm.ai/blog/gpt_6_astra',
        read,
        efforts: ['low', 'medium', 'high', 'xhigh'],
      },
      NO_SAMPLING,
      RESPONSES_TOOLS,
      {
        source: 'https://vercel.com/ai-gateway/models/gpt-6-astra',
        read,
        ...OPENAI_LIMITS,
        prices: openAiPrices({ input: 10, output: 50 }),
      },
    ],
  },
  {
    name: 'GPT-6 and 6.1 that reason on demand',
    vendor: 'openai',
    models: ['gpt-6.1-terra', 'gpt-6-sol', 'gpt-6-luna'],
    statements: [
      STRUCTURED,
      PDFS,
      BREAKPOINTS,
      {
        source: `${OPENAI}/models/gpt-6-sol`,
        read,
        efforts: NONE_TO_MAX,
        chatTools: 'without-reasoning',
        ...OPENAI_LIMITS,
      },
      SAMPLING,
      {
        source: `${OPENAI}/models/gpt-6-sol`,
        read,
        of: ['gpt-6-sol'],
        prices: openAiPrices({ input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 }),
      },
      {
        source: 'https://inference.sh/apps/openai/gpt-6-luna',
        read,
        of: ['gpt-6-luna'],
        prices: openAiPrices({ input: 0.1, output: 0.5, cacheRead: 0.01 }),
      },
      {
        source: 'https://apidog.com/blog/gpt-6-1-terra-api/',
        read,
        of: ['gpt-6.1-terra'],
        prices: openAiPrices({ input: 1, output: 5 }),
      },
    ],
  },
  {
    name: 'GPT-5.6',
    vendor: 'openai',
    models: ['gpt-5.6', 'gpt-5.6-sol', 'gpt-5.6-terra', 'gpt-5.6-luna'],
    statements: [
      STRUCTURED,
      PDFS,
      BREAKPOINTS,
      { source: `${OPENAI}/models/gpt-5.6-luna`, read, efforts: NONE_TO_MAX, ...OPENAI_LIMITS },
      SAMPLING,
      CHAT_TOOLS,
      {
        source: `${OPENAI}/models/gpt-5.6-luna`,
        read,
        of: ['gpt-5.6-luna'],
        prices: openAiPrices({ input: 0.2, output: 1.2, cacheRead: 0.02, cacheWrite: 0.25 }),
      },
      {
        // The model's own page says 4 and 20, which it promises until 2026-11-21 only.
        source: 'https://wavespeed.ai/zh-CN/llm/openai/gpt-5.6-sol',
        read: reread,
        of: ['gpt-5.6', 'gpt-5.6-sol'],
        prices: openAiPrices({ input: 5, output: 30, cacheRead: 0.5, cacheWrite: 6.25 }),
      },
      {
        source: 'https://docs.laozhang.ai/en/announcements/gpt-5-6-pricing-2026-07',
        read,
        of: ['gpt-5.6-terra'],
        prices: openAiPrices({ input: 2, output: 12, cacheRead: 0.2 }),
      },
    ],
  },
  {
    name: 'GPT-5.4 and 5.5',
    vendor: 'openai',
    models: ['gpt-5.5', 'gpt-5.4', 'gpt-5.4-mini', 'gpt-5.4-nano'],
    statements: [
      STRUCTURED,
      PDFS,
      {
        source: 'https://docs.rs/crate/meerkat-core/0.6.25/source/src/model_profile/capabilities/openai.rs',
        read,
        efforts: NONE_TO_XHIGH,
      },
      SAMPLING,
      CHAT_TOOLS,
      {
        source: 'https://docs.oxen.ai/inference-api/reference/models/gpt-5-5-2026-04-23',
        read,
        of: ['gpt-5.5', 'gpt-5.4'],
        ...OPENAI_LIMITS,
      },
      {
        source: 'https://github.com/opper-ai/cli/pull/12',
        read,
        of: ['gpt-5.5'],
        prices: openAiPrices({ input: 5, output: 30 }),
      },
      { ...SHUT_DOWN_IN_APRIL, of: ['gpt-5.4-nano'] },
    ],
  },
  {
    name: 'GPT-5.3 Codex',
    vendor: 'openai',
    models: ['gpt-5.3-codex'],
    statements: [
      STRUCTURED,
      PDFS,
      {
        source: 'https://docs.rs/crate/meerkat-core/0.6.25/source/src/model_profile/capabilities/openai.rs',
        read,
        efforts: ['low', 'medium', 'high', 'xhigh'],
      },
      SAMPLING,
      SHUT_DOWN_IN_APRIL,
    ],
  },
  {
    name: 'GPT-5.2',
    vendor: 'openai',
    models: ['gpt-5.2'],
    statements: [
      STRUCTURED,
      PDFS,
      { source: 'https://github.com/RayBytes/ChatMock/pull/101', read, efforts: NONE_TO_XHIGH },
      SAMPLING,
    ],
  },
  {
    name: 'GPT-5.1',
    vendor: 'openai',
    models: ['gpt-5.1'],
    statements: [
      STRUCTURED,
      PDFS,
      {
        source: 'https://learn.microsoft.com/en-us/javascript/api/@azure/ai-projects/reasoningeffort',
        read,
        efforts: ['none', 'low', 'medium', 'high'],
        chatTools: 'always',
      },
      SAMPLING,
      SHUT_DOWN_IN_APRIL,
    ],
  },
  {
    name: 'GPT-5',
    vendor: 'openai',
    models: ['gpt-5', 'gpt-5-mini', 'gpt-5-nano'],
    statements: [
      STRUCTURED,
      PDFS,
      {
        source: 'https://learn.microsoft.com/en-us/javascript/api/@azure/ai-projects/reasoningeffort',
        read,
        efforts: ['minimal', 'low', 'medium', 'high'],
      },
      NO_TEMPERATURE,
      {
        source: 'https://vercel.com/ai-gateway/models/gpt-5-fast',
        read,
        of: ['gpt-5'],
        contextWindow: 400_000,
        maxOutputTokens: 128_000,
      },
      { ...DEPRECATIONS, shutdown: '2026-12-11' },
    ],
  },
  {
    name: 'o-series',
    vendor: 'openai',
    models: ['o3', 'o3-mini', 'o4-mini', 'o1'],
    statements: [
      { ...PDFS, of: ['o3', 'o4-mini', 'o1'] },
      { ...NO_FILES, of: ['o3-mini'] },
      { ...STRUCTURED, of: ['o3', 'o3-mini', 'o4-mini'] },
      NO_TEMPERATURE,
      { ...SHUTDOWNS_OF_OPENAI, of: ['o3'], shutdown: '2026-12-11' },
      { ...SHUT_DOWN_IN_OCTOBER, of: ['o3-mini', 'o4-mini', 'o1'] },
    ],
  },
  {
    name: 'GPT without reasoning',
    vendor: 'openai',
    models: [
      'gpt-4.1',
      'gpt-4.1-mini',
      'gpt-4o',
      'gpt-4o-mini',
      'gpt-4.1-nano',
      'gpt-4-turbo',
      'gpt-4',
      'gpt-3.5-turbo',
      'chatgpt-4o',
      'gpt-5-chat',
      'gpt-5.1-chat',
      'gpt-5.2-chat',
      'gpt-5.3-chat',
    ],
    statements: [
      { ...PDFS, of: ['gpt-4.1', 'gpt-4.1-mini', 'gpt-4.1-nano', 'gpt-4o', 'gpt-4o-mini'] },
      { ...NO_FILES, of: ['gpt-4-turbo', 'gpt-4', 'gpt-3.5-turbo'] },
      { ...STRUCTURED, of: ['gpt-4.1', 'gpt-4.1-mini', 'gpt-4.1-nano', 'gpt-4o', 'gpt-4o-mini'] },
      {
        source: 'https://github.com/cognesy/instructor-telemetry/releases/tag/v2.14.2',
        read,
        efforts: [],
        temperature: 'always',
        chatTools: 'always',
      },
      { ...SHUTDOWNS_OF_OPENAI, of: ['gpt-4.1', 'gpt-4.1-mini', 'gpt-4o', 'gpt-4o-mini'], shutdown: '2027-01-14' },
      { ...SHUT_DOWN_IN_OCTOBER, of: ['gpt-4.1-nano', 'gpt-4-turbo', 'gpt-4', 'gpt-3.5-turbo'] },
      {
        source: 'https://github.com/NeoGenesisAI/neosignal-community/discussions/2',
        read,
        of: ['gpt-5.2-chat', 'gpt-5.3-chat'],
        shutdown: '2026-08-10',
      },
    ],
  },
  {
    name: 'Claude Opus 5.5',
    vendor: 'anthropic',
    models: ['claude-opus-5-5'],
    statements: [
      STRUCTURED_CLAUDE,
      PDFS_CLAUDE,
      {
        source: `${CLAUDE}/models/opus-5-5/whats-new-opus-5-5`,
        read,
        thinking: ['adaptive'],
        thinksByDefault: true,
        thinkingDisplay: 'omitted',
        forcedToolChoice: false,
        temperature: 'never',
        efforts: LOW_TO_MAX,
      },
      {
        source: `${CLAUDE}/models/opus-5-5/overview`,
        read,
        ...CLAUDE_LIMITS,
        prices: { input: 4, output: 20, cacheRead: 0.2, cacheWrite: 5 },
      },
    ],
  },
  {
    name: 'Claude Sonnet 5.5',
    vendor: 'anthropic',
    models: ['claude-sonnet-5-5'],
    statements: [
      STRUCTURED_CLAUDE,
      PDFS_CLAUDE,
      {
        source: `${CLAUDE}/models/sonnet-5-5/migration-guide`,
        read,
        thinking: ['adaptive', 'between_tools'],
        thinksByDefault: true,
        thinkingDisplay: 'omitted',
        forcedToolChoice: false,
        temperature: 'never',
        efforts: LOW_TO_MAX,
      },
      {
        source: `${CLAUDE}/models/sonnet-5-5/overview`,
        read,
        ...CLAUDE_LIMITS,
        prices: { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 },
      },
    ],
  },
  {
    name: 'Claude Haiku 5.5',
    vendor: 'anthropic',
    models: ['claude-haiku-5-5'],
    statements: [
      STRUCTURED_CLAUDE,
      PDFS_CLAUDE,
      {
        source: `${CLAUDE}/models/haiku-5-5/whats-new-haiku-5-5`,
        read,
        thinking: ['adaptive', 'disabled'],
        thinksByDefault: true,
        thinkingDisplay: 'omitted',
        temperature: 'never',
        efforts: LOW_TO_MAX,
      },
      {
        source: 'https://openrouter.ai/docs/cookbook/evaluate-and-optimize/model-migrations/claude-5-5',
        read,
        forcedToolChoice: false,
      },
      {
        source: `${CLAUDE}/models/haiku-5-5/overview`,
        read,
        ...CLAUDE_LIMITS,
        prices: {
          input: 0.1,
          output: 0.5,
          cacheRead: 0.01,
          cacheWrite: 0.125,
          long: { above: 100_000, input: 0.5, output: 2.5, cacheRead: 0.05, cacheWrite: 0.625 },
        },
      },
    ],
  },
  {
    name: 'Claude Fable and Mythos 5.1',
    vendor: 'anthropic',
    models: ['claude-fable-5-1', 'claude-mythos-5-1', 'claude-fable-5-2', 'claude-mythos-5-2'],
    statements: [
      STRUCTURED_CLAUDE,
      PDFS_CLAUDE,
      {
        source: `${CLAUDE}/models/opus-5-5/whats-new-opus-5-5`,
        read,
        thinking: ['adaptive'],
        thinksByDefault: true,
        forcedToolChoice: false,
        temperature: 'never',
        efforts: LOW_TO_MAX,
      },
      { source: `${CLAUDE}/models/sonnet-5/overview`, read, ...CLAUDE_LIMITS },
      {
        ...CLAUDE_PRICES,
        of: ['claude-fable-5-1', 'claude-mythos-5-1'],
        prices: { input: 10, output: 50, cacheRead: 0.25, cacheWrite: 12.5 },
      },
      {
        source: 'https://docs.apiyi.com/en/news/claude-fable-5-2-launch',
        read: reread,
        of: ['claude-fable-5-2', 'claude-mythos-5-2'],
        prices: { input: 8, output: 40, cacheRead: 0.2, cacheWrite: 10 },
      },
    ],
  },
  {
    name: 'Claude Fable and Mythos 5',
    vendor: 'anthropic',
    models: ['claude-fable-5', 'claude-mythos-5', 'claude-mythos-preview'],
    statements: [
      STRUCTURED_CLAUDE,
      PDFS_CLAUDE,
      {
        source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html',
        read,
        thinking: ['adaptive'],
        thinksByDefault: true,
        temperature: 'never',
        efforts: LOW_TO_MAX,
      },
      {
        source: `${CLAUDE}/models/fable-5/overview`,
        read,
        of: ['claude-fable-5', 'claude-mythos-5'],
        ...CLAUDE_LIMITS,
      },
      {
        ...CLAUDE_PRICES,
        of: ['claude-fable-5', 'claude-mythos-5'],
        prices: { input: 10, output: 50, cacheRead: 1, cacheWrite: 12.5 },
      },
      { source: ANTHROPIC_SDK, read, of: ['claude-mythos-preview'], shutdown: '2026-06-30' },
    ],
  },
  {
    name: 'Claude Opus 5 and Sonnet 5',
    vendor: 'anthropic',
    models: ['claude-opus-5', 'claude-sonnet-5'],
    statements: [
      STRUCTURED_CLAUDE,
      PDFS_CLAUDE,
      {
        source: `${CLAUDE}/about-claude/models/whats-new-opus-5`,
        read,
        thinking: ['adaptive', 'disabled'],
        thinksByDefault: true,
        temperature: 'never',
        efforts: LOW_TO_MAX,
      },
      {
        source: `${CLAUDE}/models/opus-5/overview`,
        read,
        of: ['claude-opus-5'],
        ...CLAUDE_LIMITS,
        prices: { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 },
      },
      {
        source: `${CLAUDE}/models/sonnet-5/overview`,
        read,
        of: ['claude-sonnet-5'],
        ...CLAUDE_LIMITS,
        prices: { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 },
      },
    ],
  },
  {
    name: 'Claude Opus 4.7 and 4.8',
    vendor: 'anthropic',
    models: ['claude-opus-4-8', 'claude-opus-4-7'],
    statements: [
      STRUCTURED_CLAUDE,
      PDFS_CLAUDE,
      {
        source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html',
        read,
        thinking: ['adaptive'],
      },
      {
        source: `${CLAUDE}/about-claude/models/whats-new-opus-5`,
        read,
        thinksByDefault: false,
      },
      { source: `${CLAUDE}/build-with-claude/effort`, read, efforts: LOW_TO_MAX },
      { source: 'https://github.com/agnt5dev/sdk-python/releases/tag/v0.13.8', read, temperature: 'never' },
      { ...CLAUDE_PRICES, prices: { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 } },
    ],
  },
  {
    name: 'Claude Opus 4.6 and Sonnet 4.6',
    vendor: 'anthropic',
    models: ['claude-opus-4-6', 'claude-sonnet-4-6'],
    statements: [
      STRUCTURED_CLAUDE,
      PDFS_CLAUDE,
      {
        source: `${CLAUDE}/build-with-claude/adaptive-thinking`,
        read,
        thinking: ['adaptive', 'enabled', 'disabled'],
        thinksByDefault: false,
        temperature: 'always',
      },
      { source: `${CLAUDE}/build-with-claude/effort`, read, efforts: ['low', 'medium', 'high', 'max'] },
      {
        source: `${CLAUDE}/models/opus-4-6/overview`,
        read,
        of: ['claude-opus-4-6'],
        ...CLAUDE_LIMITS,
        prices: { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 },
      },
      { ...OLDER_CLAUDE_PRICES, of: ['claude-sonnet-4-6'], prices: { input: 3, output: 15, cacheRead: 0.3 } },
    ],
  },
  {
    name: 'Claude with thinking budgets',
    vendor: 'anthropic',
    models: [
      'claude-haiku-4-5',
      'claude-opus-4-5',
      'claude-sonnet-4-5',
      'claude-opus-4-1',
      'claude-opus-4-0',
      'claude-opus-4',
      'claude-sonnet-4-0',
      'claude-sonnet-4',
      'claude-3-7-sonnet',
    ],
    statements: [
      PDFS_CLAUDE,
      { ...STRUCTURED_CLAUDE, of: ['claude-haiku-4-5', 'claude-opus-4-5', 'claude-sonnet-4-5'] },
      {
        source: `${CLAUDE}/build-with-claude/adaptive-thinking`,
        read,
        thinking: ['enabled', 'disabled'],
        thinksByDefault: false,
        temperature: 'always',
      },
      {
        source: `${CLAUDE}/models/overview`,
        read,
        of: ['claude-haiku-4-5'],
        contextWindow: 200_000,
        maxOutputTokens: 64_000,
      },
      { ...OLDER_CLAUDE_PRICES, of: ['claude-haiku-4-5'], prices: { input: 1, output: 5, cacheRead: 0.1 } },
      { ...OLDER_CLAUDE_PRICES, of: ['claude-sonnet-4-5'], prices: { input: 3, output: 15, cacheRead: 0.3 } },
      {
        ...CLAUDE_PRICES,
        of: ['claude-opus-4-1'],
        prices: { input: 15, output: 75, cacheRead: 1.5, cacheWrite: 18.75 },
      },
      {
        source: 'https://github.com/multidotdev/cli/releases/tag/v0.0.135',
        read: reread,
        of: ['claude-opus-4-1'],
        shutdown: '2026-08-05',
      },
      {
        source: `${CLAUDE}/build-with-claude/prompt-caching`,
        read,
        of: ['claude-opus-4-5'],
        prices: { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 },
      },
      { source: ANTHROPIC_SDK, read, of: ['claude-opus-4-5'], shutdown: '2027-01-22' },
      { source: ANTHROPIC_SDK, read, of: ['claude-sonnet-4-5'], shutdown: '2026-11-30' },
      {
        source:
          'https://raw.githubusercontent.com/ottto-ai/ai-provider-watch/main/data/events/2026-06-15-anthropic-sonnet-4-opus-4-retirement.json',
        read,
        of: ['claude-opus-4-0', 'claude-opus-4', 'claude-sonnet-4-0', 'claude-sonnet-4'],
        shutdown: '2026-06-15',
      },
      {
        source: 'https://github.com/thevibeworks/claude-code-docs/pull/417',
        read,
        of: ['claude-3-7-sonnet'],
        shutdown: '2026-02-19',
      },
    ],
  },
];

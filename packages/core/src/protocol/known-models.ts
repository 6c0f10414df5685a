/*
 * Facts about models, in one place. The sources, as read on 2026-11-24, are:
 * - names of models that are served, and the end of claude-sonnet-4-5 on 2026-11-30: `@anthropic-ai/sdk` 1.12.0
 *   (`resources/messages/messages`), `openai` 6.49.0 (`resources/shared`);
 * - models of OpenAI that were shut down on 2026-07-23, gpt-5.1-codex among them, and their successors:
 *   https://developers.openai.com/api/docs/deprecations
 * - "adaptive thinking is not supported on this model", efforts and temperatures by model: the reference of `thinking`
 *   at https://platform.claude.com/docs, and refusals that users report.
 * For a model that this file does not list, the request is sent as the caller made it.
 */

/** The models of the built-in agents, by slug. */
export const DEFAULT_MODELS = {
  'gpt-5.1-codex': 'gpt-5.6-sol',
  'claude-sonnet': 'claude-sonnet-5-5',
  'claude-haiku': 'claude-haiku-5-5',
  ollama: 'qwen3-coder',
} as const;

const OPENAI_WITHOUT_REASONING = [/^gpt-3\.5/u, /^gpt-4/u, /^chatgpt-/u, /^gpt-5[\d.]*-chat/u];
const OPENAI_WITH_REASONING = [/^o\d/u, /^gpt-5/u, /^codex-/u];

/** Whether a model never reasons. A service refuses a request for reasoning to such a model. */
export function neverReasons(model: string): boolean {
  return matchesModel(OPENAI_WITHOUT_REASONING, model);
}

const CLAUDE_WITH_BUDGETS = [/^claude-(?:2|3|instant)/u, /^claude-(?:opus|sonnet|haiku)-4(?:-[015])?(?:-\d{8})?$/u];
const CLAUDE_4_6 = [/^claude-(?:opus|sonnet)-4-6/u];

/** The form in which a model of Anthropic accepts a reasoning effort. */
export function effortShape(model: string): 'adaptive' | 'budget' {
  return matchesModel(CLAUDE_WITH_BUDGETS, model) ? 'budget' : 'adaptive';
}

/** The effort, or `high` if the model lacks this effort: Claude 4.6 has no `xhigh`, and Sonnet 4.6 has no `max`. */
export function nearestEffort<Effort extends string>(model: string, effort: Effort): Effort | 'high' {
  if (!matchesModel(CLAUDE_4_6, model)) return effort;
  return effort === 'xhigh' || (effort === 'max' && !bareModelName(model).startsWith('claude-opus')) ? 'high' : effort;
}

/**
 * Whether a model of Anthropic refuses its thinking after a change of what preceded it. Some models with adaptive
 * thinking do not; for them, it is left out all the same.
 */
export function bindsThinking(model: string): boolean {
  return effortShape(model) === 'adaptive';
}

export function isClaude(model: string): boolean {
  return bareModelName(model).startsWith('claude-');
}

const TEMPERATURE_OF_CLAUDE = [...CLAUDE_WITH_BUDGETS, ...CLAUDE_4_6];

/** Whether a model takes a temperature. Reasoning models of OpenAI and models of Anthropic after 4.6 refuse one. */
export function takesTemperature(model: string): boolean {
  if (isClaude(model)) return matchesModel(TEMPERATURE_OF_CLAUDE, model);
  return neverReasons(model) || !matchesModel(OPENAI_WITH_REASONING, model);
}

function matchesModel(patterns: readonly RegExp[], model: string): boolean {
  return patterns.some((pattern) => pattern.test(bareModelName(model)));
}

/** The name without the prefix of a gateway or of a fine-tuned model. */
function bareModelName(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1).replace(/^ft:/u, '');
}

import type { ReasoningEffort } from './model.js';
import type { FilePart } from './items.js';
import { MODEL_FAMILIES, type FileKind, type ModelFacts } from './model-families.js';

/** The models of the built-in agents, by slug. */
export const DEFAULT_MODELS = {
  gpt: 'gpt-6.2-sol',
  'claude-sonnet': 'claude-sonnet-5-5',
  'claude-haiku': 'claude-haiku-5-5',
  ollama: 'qwen3-coder',
} as const;

const FACTS: ReadonlyMap<string, ModelFacts> = new Map(
  MODEL_FAMILIES.flatMap(({ models, statements }) =>
    models.map((model): [string, ModelFacts] => [
      model,
      Object.assign({}, ...statements.filter(({ of }) => of === undefined || of.includes(model))) as ModelFacts,
    ]),
  ),
);

const NOTHING: ModelFacts = {};

/** The facts about a model; empty for an unknown one. Names of platforms, such as Bedrock and Vertex, are understood. */
export function modelFacts(model: string): ModelFacts {
  return FACTS.get(bareModelName(model)) ?? NOTHING;
}

/** Whether a model never reasons. A service refuses a request for reasoning to such a model. */
export function neverReasons(model: string): boolean {
  return modelFacts(model).efforts?.length === 0;
}

/** The form in which a model of Anthropic accepts a reasoning effort. */
export function effortShape(model: string): 'adaptive' | 'budget' {
  return modelFacts(model).thinking?.includes('adaptive') === false ? 'budget' : 'adaptive';
}

/** From least to most. */
const EFFORTS: readonly ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** The effort, or the nearest one that the model accepts. Only `none` becomes a request without reasoning. */
export function nearestEffort(
  { efforts = EFFORTS, effortsNotInChat = [] }: ModelFacts,
  effort: ReasoningEffort,
  api?: string,
): ReasoningEffort {
  const accepted = efforts.filter((one) => api !== 'openai-chat' || !effortsNotInChat.includes(one));
  if (accepted.includes(effort)) return effort;
  const reasoning = EFFORTS.filter((one) => one !== 'none' && accepted.includes(one));
  const wanted = EFFORTS.indexOf(effort);
  return reasoning.findLast((one) => EFFORTS.indexOf(one) <= wanted) ?? reasoning[0] ?? effort;
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

/** Whether a model accepts a temperature with an effort. */
export function takesTemperature(model: string, effort: ReasoningEffort | undefined): boolean {
  const { temperature = 'always' } = modelFacts(model);
  return temperature === 'always' || (temperature === 'without-reasoning' && effort === 'none');
}

/**
 * The files that a wire format carries: https://developers.openai.com/api/docs/guides/file-inputs and
 * https://developers.openai.com/api/docs/guides/audio-chat-completions, read on 2026-11-28. The SDK of OpenAI 7.59.0
 * lists no audio among the content of a message in Responses.
 */
const FILES_OF_FORMAT: Readonly<Record<string, readonly FileKind[]>> = {
  'openai-responses': ['pdf'],
  'openai-chat': ['pdf', 'audio'],
  'anthropic-messages': ['pdf'],
};

/** Whether the requests to a model may contain a file. An unknown model gets all that its format carries. */
export function takesFile(api: string, model: string, { media_type }: Pick<FilePart, 'media_type'>): boolean {
  const kind = media_type === 'application/pdf' ? 'pdf' : 'audio';
  const { files = FILES_OF_FORMAT[api] ?? [] } = modelFacts(model);
  return files.includes(kind) && FILES_OF_FORMAT[api]?.includes(kind) === true;
}

/** Prefixes of gateways, platforms, regions and fine-tuned models. */
const PREFIX = /^(?:.*\/)?(?:ft:)?(?:(?:[a-z]+\.)*(?:anthropic|openai)\.)?/u;
/** Suffixes of platforms and variants: `-v1:0`, `:batch`, `[1m]`, `@20250929`, a date, `-latest`. */
const SUFFIX = /(?:-v\d+(?::\d+)?|:[\w:-]*|\[1m\]|@\w+|-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest|fast))$/u;

/** The name without what platforms add to it. */
function bareModelName(model: string): string {
  let name = model.replace(PREFIX, '');
  for (let shorter = name.replace(SUFFIX, ''); shorter !== name; shorter = name.replace(SUFFIX, '')) name = shorter;
  return name.startsWith('claude-') ? name.replaceAll('.', '-') : name;
}

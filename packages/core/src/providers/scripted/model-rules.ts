import { modelFacts } from '../../protocol/known-models.js';
import type { FileKind, ModelFacts } from '../../protocol/model-families.js';
import type { ProviderApi } from '../answer-writer.js';
import { wireList, wireMembers, type Members } from '../wire-values.js';
import { Violation } from './seen-request.js';

/** A request, as the rules about models see it. */
interface Asked {
  readonly api: ProviderApi;
  readonly model: string;
  readonly body: Members;
  readonly effort: unknown;
  readonly facts: ModelFacts;
}

/**
 * Refuses what the service of a known model refuses. The sentences are those of the services, as far as they are known.
 *
 * @throws Violation
 */
export function checkModel(api: ProviderApi, body: Members): void {
  const model = String(body.model);
  const effort =
    body.reasoning_effort ?? wireMembers(body.reasoning).effort ?? wireMembers(body.output_config).effort ?? undefined;
  const asked: Asked = { api, model, body, effort, facts: modelFacts(model) };
  for (const problem of [
    effortProblem,
    temperatureProblem,
    choiceProblem,
    chatToolProblem,
    thinkingProblem,
    fileProblem,
  ]) {
    const found = problem(asked);
    if (found !== undefined) throw new Violation(found);
  }
}

function effortProblem({ api, model, body, effort, facts }: Asked): string | undefined {
  const { efforts, effortsNotInChat = [] } = facts;
  if (efforts?.length === 0 && wireList(body.include).includes('reasoning.encrypted_content'))
    return 'Encrypted content is not supported with this model.';
  if (effort === undefined || efforts === undefined) return undefined;
  const accepted: readonly unknown[] = efforts.filter(
    (one) => api !== 'openai-chat' || !effortsNotInChat.includes(one),
  );
  return accepted.includes(effort)
    ? undefined
    : `Unsupported value: the effort '${String(effort)}' is not supported with the model '${model}'. Supported values are: ${accepted.join(', ')}.`;
}

function temperatureProblem({ body, effort, facts: { temperature = 'always' } }: Asked): string | undefined {
  const mayHave = temperature === 'always' || (temperature === 'without-reasoning' && effort === 'none');
  return body.temperature === undefined || mayHave
    ? undefined
    : "Unsupported parameter: 'temperature' is not supported with this model.";
}

function choiceProblem({ body, facts }: Asked): string | undefined {
  const { type } = wireMembers(body.tool_choice);
  const isForced = body.tool_choice === 'required' || (type !== undefined && type !== 'auto' && type !== 'none');
  return isForced && facts.forcedToolChoice === false
    ? 'tool_choice: forced tool use is not supported for this model.'
    : undefined;
}

function chatToolProblem({ api, model, body, effort, facts: { chatTools = 'always' } }: Asked): string | undefined {
  if (api !== 'openai-chat' || wireList(body.tools).length === 0 || chatTools === 'always') return undefined;
  return chatTools === 'without-reasoning' && effort === 'none'
    ? undefined
    : `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`;
}

/** The parts of messages that are files, by their types. */
const FILE_PARTS: Readonly<Record<string, FileKind>> = {
  input_file: 'pdf',
  file: 'pdf',
  document: 'pdf',
  input_audio: 'audio',
};

function fileProblem({ model, body, facts: { files } }: Asked): string | undefined {
  if (files === undefined) return undefined;
  const parts = [...wireList(body.input), ...wireList(body.messages)].flatMap((one) =>
    wireList(wireMembers(one).content),
  );
  const refused = parts
    .map((part) => String(wireMembers(part).type))
    .find((type) => Object.hasOwn(FILE_PARTS, type) && !files.includes(FILE_PARTS[type]!));
  return refused && `Invalid content: the type '${refused}' is not supported with the model '${model}'.`;
}

function thinkingProblem({ api, model, body, effort, facts }: Asked): string | undefined {
  if (api !== 'anthropic-messages') return undefined;
  const { thinking, maxOutputTokens = Number.POSITIVE_INFINITY } = facts;
  const type = body.thinking === undefined ? undefined : String(wireMembers(body.thinking).type);
  if (type !== undefined && thinking !== undefined && !(thinking as readonly string[]).includes(type))
    return `"thinking.type.${type}" is not supported for this model.`;
  if (type === 'between_tools' && (effort === 'xhigh' || effort === 'max'))
    return `"thinking.type.between_tools" is not supported with the effort ${effort}.`;
  return Number(body.max_tokens) > maxOutputTokens
    ? `max_tokens: ${String(body.max_tokens)} > ${maxOutputTokens}, which is the maximum allowed number of output tokens for ${model}.`
    : undefined;
}

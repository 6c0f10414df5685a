import type { ModelPart, ModelTool, ReasoningEffort } from '../../protocol/index.js';
import { modelFacts, nearestEffort, neverReasons } from '../../protocol/known-models.js';
import {
  isNativeTo,
  isOfOtherModel,
  type AnswerPart,
  type AnswerTurn,
  type Call,
  type AnsweredCall,
  type ConversationTurn,
} from '../conversation.js';
import {
  answerFormat,
  argumentsOfText,
  dataUrl,
  marksSystem,
  toolInputSchema,
  nonNull,
  modelTemperature,
  type Prompt,
} from '../prompt.js';
import { hasImages, textOfParts, wrapResult } from '../result-text.js';
import { isMembers, wireList, objectJson, wireText, type Members } from '../wire-values.js';

/**
 * The request body of OpenAI Chat Completions and compatible servers.
 * Source of the format: https://platform.openai.com/docs/api-reference/chat/create
 */
export interface ChatBody {
  model: string;
  messages: ChatMessage[];
  tools?: ChatTool[] | undefined;
  tool_choice?: 'required' | { type: 'function'; function: { name: string } } | undefined;
  parallel_tool_calls?: boolean | undefined;
  max_tokens?: number | undefined;
  max_completion_tokens?: number | undefined;
  temperature?: number | undefined;
  reasoning_effort?: ReasoningEffort | undefined;
  stop?: string[] | undefined;
  response_format?:
    | { type: 'json_schema'; json_schema: { name: string; schema: Record<string, unknown>; strict: true } }
    | undefined;
  prompt_cache_key?: string | undefined;
  stream: true;
  stream_options: { include_usage: true };
}

type ChatMessage =
  | { role: 'system'; content: string | [MarkedText] }
  | { role: 'user'; content: string | ChatPart[] }
  | ChatAnswer
  | { role: 'tool'; tool_call_id: string; content: string };

/** A text at the end of a prefix that the service caches. */
interface MarkedText {
  type: 'text';
  text: string;
  prompt_cache_breakpoint: { mode: 'explicit' };
}

type ChatPart =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string } }
  | { type: 'file'; file: { filename: string; file_data: string } }
  | { type: 'input_audio'; input_audio: { data: string; format: 'wav' | 'mp3' } };

interface ChatAnswer {
  role: 'assistant';
  content: string | null;
  refusal?: string | undefined;
  tool_calls?: ChatCall[] | undefined;
  /** The reasoning, for servers that require it back. */
  reasoning_content?: string | undefined;
  reasoning?: string | undefined;
  reasoning_details?: Members[] | undefined;
}

interface ChatCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
  /** The member in which Gemini stores the signature of a call. */
  extra_content?: Members | undefined;
}

interface ChatTool {
  type: 'function';
  function: { name: string; description: string; parameters: Record<string, unknown> };
}

export interface ChatSettings {
  /** The name that servers of this base URL use for the maximum output. Default `max_tokens`. */
  maxTokensName?: 'max_tokens' | 'max_completion_tokens' | undefined;
  /**
   * The answers whose reasoning is sent back. Default `tool-turns`: the answers that called tools, as DeepSeek and
   * similar servers require. `reasoning_details` are sent back unless this option is `never`.
   */
  echoReasoning?: 'tool-turns' | 'always' | 'never' | undefined;
  /**
   * Sends an empty `reasoning_content` for an answer without reasoning, if `echoReasoning` includes the answer.
   * Default: true for servers that are known to refuse answers without `reasoning_content` (DeepSeek, Kimi); for all
   * others, true from the first answer that has a `reasoning_content`.
   */
  emptyReasoning?: boolean | undefined;
  /**
   * The `extra_content` of the first call of an answer whose calls have none. Default: the signature for calls of other
   * models at servers of Google, for Gemini 3 and later; nothing elsewhere.
   */
  missingSignature?: Members | undefined;
  /**
   * False: a model that refuses tools together with reasoning in this format does not reason if the request has tools.
   * Default: false for OpenAI and Azure, true for other servers.
   */
  toolsWithReasoning?: boolean | undefined;
  /**
   * Whether the system text marks the end of a cached prefix, which all threads with the same beginning share. Default:
   * true at api.openai.com, for models that have such marks.
   */
  cacheBreakpoints?: boolean | undefined;
}

export function encodeChat(prompt: Prompt, settings: ChatSettings = {}): ChatBody {
  const { model, stopSequences = [] } = prompt;
  const effort = chatEffort(prompt, settings);
  const system: ChatMessage[] = prompt.system === undefined ? [] : [systemMessage(prompt, settings)];
  return {
    model,
    messages: [...system, ...chatMessages(prompt, settings)],
    ...chatTools(prompt),
    ...nonNull({ [settings.maxTokensName ?? 'max_tokens']: prompt.maxOutputTokens }),
    ...nonNull({
      temperature: modelTemperature({ ...prompt, reasoningEffort: effort }),
      reasoning_effort: effort,
    }),
    ...(stopSequences.length === 0 ? {} : { stop: [...stopSequences] }),
    ...responseFormat(prompt),
    ...nonNull({ prompt_cache_key: prompt.promptCache?.key }),
    stream: true,
    stream_options: { include_usage: true },
  };
}

function systemMessage(prompt: Prompt, { cacheBreakpoints }: ChatSettings): ChatMessage {
  const text = prompt.system!;
  if (!marksSystem(prompt, cacheBreakpoints)) return { role: 'system', content: text };
  return { role: 'system', content: [{ type: 'text', text, prompt_cache_breakpoint: { mode: 'explicit' } }] };
}

function responseFormat(prompt: Prompt): Pick<ChatBody, 'response_format'> {
  const schema = answerFormat('openai-chat', prompt);
  return schema === undefined
    ? {}
    : {
        response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: { ...schema }, strict: true } },
      };
}

function chatEffort(
  { model, reasoningEffort: effort, tools = [] }: Prompt,
  { toolsWithReasoning = true }: ChatSettings,
): ReasoningEffort | undefined {
  if (neverReasons(model)) return undefined;
  const facts = modelFacts(model);
  if (tools.length > 0 && !toolsWithReasoning && facts.chatTools === 'without-reasoning') return 'none';
  return effort === undefined ? undefined : nearestEffort(facts, effort, 'openai-chat');
}

function chatTools({
  tools = [],
  toolChoice: choice,
  parallelToolCalls,
}: Prompt): Pick<ChatBody, 'tools' | 'tool_choice' | 'parallel_tool_calls'> {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(chatFunctionTool),
    ...(choice === 'required' ? { tool_choice: choice } : {}),
    ...(typeof choice === 'object' ? { tool_choice: { type: 'function', function: { name: choice.name } } } : {}),
    ...nonNull({ parallel_tool_calls: parallelToolCalls }),
  };
}

function chatFunctionTool(tool: ModelTool): ChatTool {
  const { name, description } = tool;
  return { type: 'function', function: { name, description, parameters: { ...toolInputSchema(tool) } } };
}

/** The model that reads the request, and its tools. */
interface Reader {
  readonly model: string;
  readonly tools: readonly ModelTool[];
}

function chatMessages({ turns, tools = [], model }: Prompt, settings: ChatSettings): ChatMessage[] {
  let { emptyReasoning } = settings;
  return turns.flatMap((turn) => {
    emptyReasoning ??= turn.type === 'answer' && turn.parts.some(hasReasoningContent) ? true : undefined;
    return chatTurnMessages(turn, { tools, model }, { ...settings, ...nonNull({ emptyReasoning }) });
  });
}

function hasReasoningContent(part: AnswerPart): boolean {
  return (
    part.type === 'reasoning' &&
    isNativeTo('openai-chat', part.item) &&
    wireText(part.item.reasoning_content) !== undefined
  );
}

function chatTurnMessages(turn: ConversationTurn, reader: Reader, settings: ChatSettings): ChatMessage[] {
  switch (turn.type) {
    case 'user':
      return [userMessage([{ type: 'text', text: turn.text }, ...turn.attached])];
    case 'system':
      return [
        { role: 'system', content: turn.text },
        // In this format, only a user's message can contain images and files.
        ...(turn.attached.length === 0 ? [] : [userMessage(turn.attached)]),
      ];
    case 'late_result':
      return [userMessage(wrapResult(turn.result.callId, turn.result.parts))];
    case 'answer':
      return answerMessages(turn, reader, settings);
  }
}

/** A message of one text part stays a string, which every server reads. */
function userMessage(parts: readonly ModelPart[]): ChatMessage {
  const [first, ...others] = parts;
  if (first?.type === 'text' && others.length === 0) return { role: 'user', content: first.text };
  return { role: 'user', content: parts.map(chatPart) };
}

function chatPart(part: ModelPart): ChatPart {
  if (part.type === 'text') return { type: 'text', text: part.text };
  if (part.type === 'image') return { type: 'image_url', image_url: { url: dataUrl(part) } };
  const { media_type, name, data } = part;
  return media_type === 'application/pdf'
    ? { type: 'file', file: { filename: name, file_data: dataUrl(part) } }
    : { type: 'input_audio', input_audio: { data, format: media_type === 'audio/wav' ? 'wav' : 'mp3' } };
}

/** The answer, one tool message for each call, then content that tool messages cannot hold: images, script results. */
function answerMessages(
  { parts, results, textResults }: AnswerTurn,
  reader: Reader,
  settings: ChatSettings,
): ChatMessage[] {
  const answer = chatAnswer(parts, reader, settings);
  const following = [
    ...results.filter((result) => hasImages(result.parts)).flatMap(callImages),
    ...textResults.flatMap(({ callId, parts: result }) => wrapResult(callId, result)),
  ];
  return [
    ...(answer === undefined ? [] : [answer]),
    ...results.map(chatToolMessage),
    ...(following.length === 0 ? [] : [userMessage(following)]),
  ];
}

function chatToolMessage({ call, parts }: AnsweredCall): ChatMessage {
  return { role: 'tool', tool_call_id: call.id, content: textOfParts(parts.filter(({ type }) => type === 'text')) };
}

function callImages({ call, parts }: AnsweredCall): ModelPart[] {
  const images = parts.filter(({ type }) => type === 'image');
  return [{ type: 'text', text: `Images of the call ${call.id} (${call.name}):` }, ...images];
}

/** The message of an answer; undefined for an empty answer. Reasoning alone counts as empty. */
function chatAnswer(
  parts: readonly AnswerPart[],
  { tools, model }: Reader,
  settings: ChatSettings,
): ChatAnswer | undefined {
  const texts = parts.flatMap((part) => (part.type === 'text' && part.text !== '' ? [part] : []));
  const calls = signed(
    parts.flatMap((part) => (part.type === 'call' ? [chatCall(part.call, tools)] : [])),
    settings.missingSignature,
  );
  const reasoning = chatReasoning(parts, { model, callsTools: calls.length > 0 }, settings);
  if (texts.length === 0 && calls.length === 0) return undefined;
  const text = texts.map((part) => part.text).join('\n\n');
  return {
    role: 'assistant',
    ...chatAnswerText(text, texts[0]?.item.refusal),
    ...reasoning,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/** The text of an item ends with the refusal; this wire format has a separate member for the refusal. */
function chatAnswerText(text: string, refusal: unknown): Pick<ChatAnswer, 'content' | 'refusal'> {
  if (typeof refusal !== 'string' || refusal === '' || !text.endsWith(refusal)) {
    return { content: text === '' ? null : text };
  }
  const before = text.slice(0, -refusal.length);
  return { content: before === '' ? null : before, refusal };
}

function chatReasoning(
  parts: readonly AnswerPart[],
  { model, callsTools }: { readonly model: string; readonly callsTools: boolean },
  { echoReasoning = 'tool-turns', emptyReasoning = false }: ChatSettings,
): Pick<ChatAnswer, 'reasoning_content' | 'reasoning' | 'reasoning_details'> {
  if (echoReasoning === 'never') return {};
  const own = parts.flatMap((part) =>
    part.type === 'reasoning' && isNativeTo('openai-chat', part.item) ? [part.item] : [],
  );
  // The details may be sealed for their own model.
  const details = own.flatMap((item) =>
    isOfOtherModel(item, model) ? [] : wireList(item.reasoning_details).filter(isMembers),
  );
  const texts = callsTools || echoReasoning === 'always';
  const joined = (name: 'reasoning_content' | 'reasoning'): string | undefined => {
    const said = own.flatMap((item) => wireText(item[name]) ?? []);
    return texts && said.length > 0 ? said.join('') : undefined;
  };
  const empty = texts && emptyReasoning ? '' : undefined;
  return {
    ...nonNull({ reasoning_content: joined('reasoning_content') ?? empty, reasoning: joined('reasoning') }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
  };
}

function signed([first, ...others]: ChatCall[], signature: Members | undefined): ChatCall[] {
  if (first === undefined) return [];
  return [{ ...nonNull({ extra_content: signature }), ...first } as ChatCall, ...others];
}

function chatCall(call: Call, tools: readonly ModelTool[]): ChatCall {
  const { id, name, item } = call;
  const extra = isNativeTo('openai-chat', item) && isMembers(item?.extra_content) ? item.extra_content : undefined;
  return {
    id,
    type: 'function',
    function: { name, arguments: chatCallArguments(call, tools) },
    ...nonNull({ extra_content: extra }),
  };
}

function chatCallArguments({ name, arguments: text, custom }: Call, tools: readonly ModelTool[]): string {
  return custom ? argumentsOfText(text, name, tools) : objectJson(text);
}

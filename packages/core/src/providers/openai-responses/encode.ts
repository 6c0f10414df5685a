import type { FunctionTool, ModelPart, ModelTool, OutputItem, ReasoningEffort } from '../../protocol/index.js';
import {
  isNativeTo,
  isOfCode,
  isOfOtherModel,
  withoutLooseReasoning,
  type AnswerPart,
  type AnswerTurn,
  type Call,
  type AnsweredCall,
  type ConversationTurn,
} from '../conversation.js';
import {
  answerFormat,
  dataUrl,
  isDirect,
  isForCode,
  marksSystem,
  nonNull,
  offersCode,
  modelTemperature,
  type Prompt,
} from '../prompt.js';
import { hasImages, textOfParts, wrapResult } from '../result-text.js';
import { isMembers, wireList, wireMembers, wireName, without, objectJson, wireText } from '../wire-values.js';
import { modelFacts, nearestEffort, neverReasons } from '../../protocol/known-models.js';

/**
 * The request body of the OpenAI Responses API.
 * Source of the format: https://platform.openai.com/docs/api-reference/responses/create
 */
export interface ResponsesBody {
  model: string;
  instructions?: string | undefined;
  input: ResponsesInput[];
  tools?: ResponsesTool[] | undefined;
  tool_choice?: 'required' | { type: 'function' | 'custom'; name: string } | undefined;
  parallel_tool_calls?: boolean | undefined;
  max_output_tokens?: number | undefined;
  temperature?: number | undefined;
  reasoning?: { effort: ReasoningEffort; summary?: ReasoningSummary | undefined } | undefined;
  text?: { format: { type: 'json_schema'; name: string; schema: Record<string, unknown>; strict: true } } | undefined;
  include?: 'reasoning.encrypted_content'[] | undefined;
  prompt_cache_key?: string | undefined;
  store: boolean;
  background?: true | undefined;
  stream: true;
}

export type ResponsesInput =
  | InputMessage
  | OutputMessage
  | EasyMessage
  | Reasoning
  | FunctionCall
  | CustomToolCall
  | FunctionCallOutput
  | CustomToolCallOutput
  | OpaqueItem;

type InputMessage = { type: 'message' } & (
  | { role: 'user'; content: InputPart[] }
  | { role: 'developer'; content: InputText[] }
);

type InputPart = InputText | InputImage | InputFile;

interface InputText {
  type: 'input_text';
  text: string;
  /** Marks the end of a prefix that the service caches. */
  prompt_cache_breakpoint?: { mode: 'explicit' } | undefined;
}

interface InputImage {
  type: 'input_image';
  image_url: string;
  detail: 'auto';
}

interface InputFile {
  type: 'input_file';
  filename: string;
  file_data: string;
}

interface OutputMessage {
  type: 'message';
  role: 'assistant';
  id: string;
  status: 'completed' | 'incomplete';
  content: ({ type: 'output_text'; text: string; annotations: [] } | { type: 'refusal'; refusal: string })[];
  phase?: 'commentary' | 'final_answer' | undefined;
}

/** Text of an answer that the service has not stored, or that came through another format. */
interface EasyMessage {
  type: 'message';
  role: 'assistant';
  content: string;
  phase?: 'commentary' | 'final_answer' | undefined;
}

interface Reasoning {
  type: 'reasoning';
  id?: string | undefined;
  summary: { type: 'summary_text'; text: string }[];
  content?: { type: 'reasoning_text'; text: string }[] | undefined;
  encrypted_content?: string | undefined;
}

type Caller = { type: 'direct' } | { type: 'program'; caller_id: string };

interface Grammar {
  type: 'grammar';
  syntax: 'lark' | 'regex';
  definition: string;
}

interface FunctionCall {
  type: 'function_call';
  call_id: string;
  name: string;
  arguments: string;
  id?: string | undefined;
  namespace?: string | undefined;
  caller?: Caller | undefined;
}

interface CustomToolCall {
  type: 'custom_tool_call';
  call_id: string;
  name: string;
  input: string;
  id?: string | undefined;
  namespace?: string | undefined;
  caller?: Caller | undefined;
}

interface FunctionCallOutput {
  type: 'function_call_output';
  call_id: string;
  output: string | InputPart[];
  caller?: Caller | undefined;
}

interface CustomToolCallOutput {
  type: 'custom_tool_call_output';
  call_id: string;
  output: string | InputPart[];
  caller?: Caller | undefined;
}

/** An item exactly as the wire sent it. */
interface OpaqueItem {
  readonly [OPAQUE]?: never;
}
declare const OPAQUE: unique symbol;

type ResponsesTool =
  | {
      type: 'function';
      name: string;
      description: string;
      parameters: Record<string, unknown>;
      strict: false;
      allowed_callers?: ('direct' | 'programmatic')[] | undefined;
      output_schema?: Record<string, unknown> | undefined;
    }
  | { type: 'custom'; name: string; description: string; format?: Grammar | undefined }
  /** Source: https://developers.openai.com/api/docs/guides/tools-programmatic-tool-calling */
  | { type: 'programmatic_tool_calling' };

type ReasoningSummary = 'auto' | 'concise' | 'detailed';

export interface ResponsesSettings {
  /** The summary of reasoning that users read. Default `auto`. */
  reasoningSummary?: ReasoningSummary | 'none' | undefined;
  /** Requests encrypted reasoning, which can be sent back. Default true, except for models that never reason. */
  encryptedReasoning?: boolean | undefined;
  /**
   * Whether the service stores answers. If so, items are sent back with their ids. Default false: items are sent back
   * without ids, because the service would look up each id and expect the stored item and its neighbors.
   */
  store?: boolean | undefined;
  /**
   * Whether the service continues an answer whose connection was lost, so that the rest is read later. The service then
   * stores the answers. Default false.
   */
  background?: boolean | undefined;
  /**
   * Whether the system text, as the first message, marks the end of a cached prefix, which all threads with the same
   * beginning share. Default: true at api.openai.com, for models that have such marks.
   */
  cacheBreakpoints?: boolean | undefined;
}

export function encodeResponses(prompt: Prompt, settings: ResponsesSettings = {}): ResponsesBody {
  const store = storesAnswers(settings);
  const { background = false, encryptedReasoning = !neverReasons(prompt.model) } = settings;
  const isMarked = marksSystem(prompt, settings.cacheBreakpoints);
  return {
    model: prompt.model,
    ...(isMarked ? {} : nonNull({ instructions: prompt.system })),
    input: [
      ...(isMarked ? [markedSystem(prompt.system!)] : []),
      ...prompt.turns.flatMap((turn) => turnInput(turn, { stored: store, model: prompt.model })),
    ],
    ...responsesTools(prompt),
    ...nonNull({ max_output_tokens: prompt.maxOutputTokens, temperature: modelTemperature(prompt) }),
    ...reasoningSettings(prompt, settings),
    ...textFormat(prompt),
    ...(encryptedReasoning ? { include: ['reasoning.encrypted_content'] } : {}),
    ...nonNull({ prompt_cache_key: prompt.promptCache?.key }),
    store,
    ...(background ? { background } : {}),
    stream: true,
  };
}

function reasoningSettings(
  { model, reasoningEffort: effort }: Prompt,
  { reasoningSummary: summary = 'auto' }: ResponsesSettings,
): Pick<ResponsesBody, 'reasoning'> {
  if (effort === undefined || neverReasons(model)) return {};
  const nearest = nearestEffort(modelFacts(model), effort);
  return { reasoning: { effort: nearest, ...(nearest === 'none' || summary === 'none' ? {} : { summary }) } };
}

function markedSystem(text: string): InputMessage {
  const content = [{ type: 'input_text', text, prompt_cache_breakpoint: { mode: 'explicit' } }] as const;
  return { type: 'message', role: 'developer', content: [...content] };
}

function textFormat(prompt: Prompt): Pick<ResponsesBody, 'text'> {
  const schema = answerFormat('openai-responses', prompt);
  return schema === undefined
    ? {}
    : { text: { format: { type: 'json_schema', name: 'answer', schema: { ...schema }, strict: true } } };
}

function responsesTools({
  tools = [],
  toolChoice: choice,
  parallelToolCalls,
}: Prompt): Pick<ResponsesBody, 'tools' | 'tool_choice' | 'parallel_tool_calls'> {
  if (tools.length === 0) return {};
  const chosen = typeof choice === 'object' ? tools.find(({ name }) => name === choice.name) : undefined;
  const named = chosen !== undefined && isDirect(chosen) ? chosen : undefined;
  return {
    tools: [
      ...tools.map(responsesTool),
      ...(offersCode(tools) ? [{ type: 'programmatic_tool_calling' } as const] : []),
    ],
    ...(named === undefined ? {} : { tool_choice: { type: named.type, name: named.name } }),
    ...(choice === 'required' ? { tool_choice: choice } : {}),
    ...nonNull({ parallel_tool_calls: parallelToolCalls }),
  };
}

function responsesTool(tool: ModelTool): ResponsesTool {
  const { name, description } = tool;
  if (tool.type === 'custom')
    return { type: 'custom', name, description, ...(tool.grammar && { format: { type: 'grammar', ...tool.grammar } }) };
  return {
    type: 'function',
    name,
    description,
    parameters: { ...tool.inputSchema },
    strict: false,
    ...(isForCode(tool) ? codeMembers(tool) : {}),
  };
}

function codeMembers(tool: FunctionTool) {
  const allowed_callers: ('direct' | 'programmatic')[] = isDirect(tool) ? ['direct', 'programmatic'] : ['programmatic'];
  return { allowed_callers, ...(tool.outputSchema === undefined ? {} : { output_schema: { ...tool.outputSchema } }) };
}

/** The model of the request, and whether the service stores its answers. */
interface InputOptions {
  readonly model: string;
  readonly stored: boolean;
}

/** Whether the service stores answers: it must store those that it continues in the background. */
export function storesAnswers({ store = false, background = false }: ResponsesSettings = {}): boolean {
  return store || background;
}

function turnInput(turn: ConversationTurn, options: InputOptions): ResponsesInput[] {
  switch (turn.type) {
    case 'user':
      return [userMessage([{ type: 'text', text: turn.text }, ...turn.attached])];
    case 'system':
      return [
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: turn.text }] },
        // In this format, only a user's message can contain images and files.
        ...(turn.attached.length === 0 ? [] : [userMessage(turn.attached)]),
      ];
    case 'late_result':
      return [userMessage(wrapResult(turn.result.callId, turn.result.parts))];
    case 'answer':
      return answerInput(turn, options);
  }
}

/** The items of the answer in order, then outputs in call order, then the results of scripts in text. */
function answerInput({ parts, results, textResults }: AnswerTurn, options: InputOptions): ResponsesInput[] {
  const texts = textResults.flatMap(({ callId, parts: result }) => wrapResult(callId, result));
  return [
    ...withoutLooseReasoning(parts).flatMap((part) => answerPartInput(part, options)),
    ...results.map(responsesCallOutput),
    ...(texts.length === 0 ? [] : [userMessage(texts)]),
  ];
}

function userMessage(parts: readonly ModelPart[]): InputMessage {
  return { type: 'message', role: 'user', content: parts.map(inputPart) };
}

function inputPart(part: ModelPart): InputPart {
  if (part.type === 'text') return { type: 'input_text', text: part.text };
  if (part.type === 'file') return { type: 'input_file', filename: part.name, file_data: dataUrl(part) };
  return { type: 'input_image', image_url: dataUrl(part), detail: 'auto' };
}

function answerPartInput(part: AnswerPart, options: InputOptions): ResponsesInput[] {
  // The service may have stored only a part of the conversation.
  const isStored = ({ stored }: OutputItem): boolean => options.stored && stored === true;
  switch (part.type) {
    case 'text':
      return textMessages(part, isStored(part.item));
    case 'reasoning':
      return reasoningInput(part.item, { ...options, stored: isStored(part.item) });
    case 'hosted':
      return isNativeTo('openai-responses', part.item) ? [sentBack(part.item.native)] : [];
    case 'call':
      return [responsesCall(part.call, part.call.item !== undefined && isStored(part.call.item))];
  }
}

function textMessages({ text, item }: Extract<AnswerPart, { type: 'text' }>, stored: boolean): ResponsesInput[] {
  const own = isNativeTo('openai-responses', item);
  const id = own && stored ? wireName(item.native_id) : undefined;
  const phase = (own ? nonNull({ phase: item.phase }) : {}) as Pick<OutputMessage, 'phase'>;
  if (id === undefined) return text === '' ? [] : [{ type: 'message', role: 'assistant', content: text, ...phase }];
  // If the texts of the parts differ from `text`, the message was split.
  const parts = wireList(item.content_parts).filter(isMembers);
  const whole = parts.map((part) => wireText(part.text) ?? wireText(part.refusal) ?? '').join('') === text;
  const content = whole && parts.length > 0 ? parts : [{ type: 'output_text', text, annotations: [] }];
  return [
    {
      type: 'message',
      role: 'assistant',
      id,
      status: item.status === 'incomplete' ? 'incomplete' : 'completed',
      content: content as OutputMessage['content'],
      ...phase,
    },
  ];
}

/**
 * Reasoning that came through this format is sent back if the item has encrypted content, or the text of a server that
 * does not encrypt reasoning. Any other reasoning is omitted, because the service or the model cannot use it.
 */
function reasoningInput(
  item: Extract<AnswerPart, { type: 'reasoning' }>['item'],
  { stored, model }: InputOptions,
): ResponsesInput[] {
  if (!isNativeTo('openai-responses', item)) return [];
  if (isMembers(item.native)) return [sentBack(item.native)];
  // A service that stores answers expects the neighbors of each item.
  if (!stored && isOfOtherModel(item, model)) return [];
  const content = wireList(item.content_parts) as NonNullable<Reasoning['content']>;
  const encrypted = wireName(item.encrypted_content);
  if (encrypted === undefined && content.length === 0) return [];
  return [
    {
      type: 'reasoning',
      ...(stored || encrypted === undefined ? { id: wireName(item.native_id) ?? item.id } : {}),
      summary: wireList(item.summary) as Reasoning['summary'],
      ...(content.length === 0 ? {} : { content }),
      ...nonNull({ encrypted_content: encrypted }),
    },
  ];
}

/**
 * The wire's item as a request takes it: who created it is a member of answers alone, and tools come from the developer.
 * Source: `ResponseOutputItem` and `ResponseInputItem` of `openai` 7.59.0.
 */
function sentBack(native: unknown): OpaqueItem {
  const item = without(wireMembers(native), 'created_by');
  if (item.type === 'additional_tools') return { ...item, role: 'developer' } as OpaqueItem;
  if (item.type !== 'shell_call_output') return item as OpaqueItem;
  return {
    ...item,
    output: wireList(item.output).map((part) => without(wireMembers(part), 'created_by')),
  } as OpaqueItem;
}

function responsesCall(call: Call, stored: boolean): FunctionCall | CustomToolCall {
  const { id: call_id, name } = call;
  const { id, ...others } = nativeCallMembers(call);
  const native = { ...others, ...(stored ? nonNull({ id }) : {}) };
  if (call.custom) return { type: 'custom_tool_call', call_id, name, input: call.arguments, ...native };
  return { type: 'function_call', call_id, name, arguments: objectJson(call.arguments), ...native };
}

function nativeCallMembers({ item }: Call): Pick<FunctionCall, 'id' | 'namespace' | 'caller'> {
  if (item === undefined || !isNativeTo('openai-responses', item)) return {};
  const { native_id: id, namespace, caller } = item;
  return nonNull({ id, namespace, caller }) as Pick<FunctionCall, 'id' | 'namespace' | 'caller'>;
}

function responsesCallOutput({ call, parts }: AnsweredCall): FunctionCallOutput | CustomToolCallOutput {
  // Code reads only text.
  const showsImages = hasImages(parts) && !isOfCode('openai-responses', call);
  const output = showsImages ? parts.map(inputPart) : textOfParts(parts);
  const { caller } = nativeCallMembers(call);
  const type = call.custom ? 'custom_tool_call_output' : 'function_call_output';
  return { type, call_id: call.id, output, ...nonNull({ caller }) };
}

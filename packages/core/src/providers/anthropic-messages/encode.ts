import { bindsThinking, effortShape, modelFacts, nearestEffort } from '../../protocol/known-models.js';
import type { FilePart, ModelPart, ModelTool, ReasoningEffort } from '../../protocol/index.js';
import {
  isNativeTo,
  isOfCode,
  isOfOtherModel,
  isReasoning,
  withoutLooseReasoning,
  type AnswerPart,
  type AnswerTurn,
  type Call,
  type AnsweredCall,
  type ConversationTurn,
} from '../conversation.js';
import {
  answerFormat,
  argumentsOfText,
  toolInputSchema,
  isDirect,
  isForCode,
  modelTemperature,
  modelToolChoice,
  nonNull,
  offersCode,
  type Prompt,
} from '../prompt.js';
import { hasImages, textOfParts, wrapResult } from '../result-text.js';
import { isMembers, wireList, wireName, objectJson, type Members } from '../wire-values.js';
import { Prefix } from './prefix.js';
import { sentBack } from './sent-back.js';

/**
 * The request body of Anthropic Messages.
 * Source of the format: https://docs.claude.com/en/api/messages
 */
export interface MessagesBody {
  model: string;
  max_tokens: number;
  system?: TextBlock[] | undefined;
  messages: MessagesMessage[];
  tools?: MessagesTool[] | undefined;
  tool_choice?:
    | (({ type: 'auto' | 'any' } | { type: 'tool'; name: string }) & { disable_parallel_tool_use?: true | undefined })
    | { type: 'none' }
    | undefined;
  temperature?: number | undefined;
  stop_sequences?: string[] | undefined;
  thinking?:
    | ({ type: 'adaptive' } & ThinkingDisplay)
    | ({ type: 'enabled'; budget_tokens: number } & ThinkingDisplay)
    | { type: 'disabled' | 'between_tools' }
    | undefined;
  output_config?:
    | {
        effort?: MessagesEffort | undefined;
        format?: { type: 'json_schema'; schema: Record<string, unknown> } | undefined;
      }
    | undefined;
  /** The container of the provider's code. Required while this code waits for results. */
  container?: string | undefined;
  stream: true;
}

export type MessagesMessage = { role: 'user'; content: UserBlock[] } | { role: 'assistant'; content: AnswerBlock[] };

type MessagesEffort = Exclude<ReasoningEffort, 'none' | 'minimal'>;

type ThinkingDisplay = { display?: 'summarized' | 'omitted' | undefined };

type CacheControlMark = { cache_control?: { type: 'ephemeral' } | undefined };

type TextBlock = { type: 'text'; text: string; citations?: never[] | undefined } & CacheControlMark;

type ImageBlock = {
  type: 'image';
  source: { type: 'base64'; media_type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'; data: string };
} & CacheControlMark;

type DocumentBlock = {
  type: 'document';
  source: { type: 'base64'; media_type: 'application/pdf'; data: string };
  title: string;
} & CacheControlMark;

type ContentBlock = TextBlock | ImageBlock | DocumentBlock;

type ToolResultBlock = {
  type: 'tool_result';
  tool_use_id: string;
  content: string | ContentBlock[];
  is_error?: true | undefined;
} & CacheControlMark;

type UserBlock = ContentBlock | ToolResultBlock;

type AnswerBlock =
  | TextBlock
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown>; caller?: Caller | undefined }
  | OpaqueBlock;

type Caller = { type: 'direct' } | { type: typeof CODE_EXECUTION; tool_id: string };

/** A block exactly as the wire sent it. */
interface OpaqueBlock {
  readonly [OPAQUE]?: never;
}
declare const OPAQUE: unique symbol;

type MessagesTool =
  | ({
      name: string;
      description: string;
      input_schema: { type: 'object'; [member: string]: unknown };
      allowed_callers?: ('direct' | typeof CODE_EXECUTION)[] | undefined;
    } & CacheControlMark)
  | { type: typeof CODE_EXECUTION; name: 'code_execution' };

export interface MessagesSettings {
  /** The maximum number of tokens of an answer, for requests without `maxOutputTokens`. Default 32 000. */
  maxOutputTokens?: number | undefined;
  /**
   * The form of a reasoning effort: `adaptive` thinking with an effort, or a `budget` of tokens. Default: `budget` for
   * models before Claude 4.6, which refuse `adaptive`, and `adaptive` for all other models.
   */
  thinking?: 'adaptive' | 'budget' | undefined;
  /**
   * Whether the answer contains a summary of its thinking, or only the signature. Default: `summarized` for models that
   * otherwise write nothing between two calls, and the model's default for others.
   */
  thinkingDisplay?: 'summarized' | 'omitted' | undefined;
}

/**
 * The version of the provider's code tool, and its name as a caller of tools.
 * Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/programmatic-tool-calling
 */
const CODE_EXECUTION = 'code_execution_20260120';

const DEFAULT_MAX_TOKENS = 32_000;
const MARK = { cache_control: { type: 'ephemeral' } } as const;

export function encodeMessages(prompt: Prompt, settings?: MessagesSettings): MessagesBody {
  return messagesRequest(prompt, settings).body;
}

/** The body, and the hash of the prefix of its answer. */
export function messagesRequest(
  asked: Prompt,
  settings: MessagesSettings = {},
): { body: MessagesBody; prefix: string } {
  const prompt = withToolsForCalls(asked);
  const { tools = [], stopSequences = [], promptCache } = prompt;
  const marks = promptCache?.marks !== false;
  const maxTokens = Math.min(
    prompt.maxOutputTokens ?? settings.maxOutputTokens ?? DEFAULT_MAX_TOKENS,
    modelFacts(prompt.model).maxOutputTokens ?? Number.POSITIVE_INFINITY,
  );
  const thinking = messagesThinking(prompt, maxTokens, settings);
  const thinks = thinking.thinking?.type === 'adaptive' || thinking.thinking?.type === 'enabled';
  const prefix = new Prefix(messagesSystem(prompt.system, false), messagesTools(tools, false));
  const messages = prefixedMessages(prompt, prefix);
  const body: MessagesBody = {
    model: prompt.model,
    max_tokens: maxTokens,
    ...messagesSystem(prompt.system, marks),
    messages: marks ? withMarks(messages) : messages,
    ...messagesTools(tools, marks && isBlank(prompt.system)),
    ...messagesToolChoice(prompt),
    // If thinking is on, the service accepts only the default temperature.
    ...nonNull({ temperature: thinks ? undefined : modelTemperature(prompt) }),
    ...(stopSequences.length === 0 ? {} : { stop_sequences: [...stopSequences] }),
    ...thinking,
    ...outputConfig(prompt, thinking.output_config),
    ...nonNull({ container: prompt.container }),
    stream: true,
  };
  return { body, prefix: prefix.hash };
}

/** "Requests which include `tool_use` or `tool_result` blocks must define tools." The model cannot call this one. */
const NO_TOOL: ModelTool = {
  type: 'function',
  name: 'unavailable',
  description: 'No tool is available any longer.',
  inputSchema: { type: 'object' },
};

function withToolsForCalls(prompt: Prompt): Prompt {
  const { tools = [], turns } = prompt;
  const hasCalls = turns.some((turn) => turn.type === 'answer' && turn.parts.some(({ type }) => type === 'call'));
  return tools.length === 0 && hasCalls ? { ...prompt, tools: [NO_TOOL] } : prompt;
}

/** The messages of the turns. Adds each message to the prefix of the later ones. */
function prefixedMessages({ turns, tools = [], model }: Prompt, prefix: Prefix): MessagesMessage[] {
  return turns.flatMap((turn) => {
    const messages = turnMessages(
      turn.type === 'answer' ? { ...turn, parts: readableParts(turn.parts, model, prefix.hash) } : turn,
      tools,
    );
    for (const message of messages) prefix.add(message);
    return messages;
  });
}

/** The parts without thinking that the model cannot read. */
function readableParts(parts: readonly AnswerPart[], model: string, prefix: string): readonly AnswerPart[] {
  const isStale = (bound: unknown): boolean => bindsThinking(model) && bound !== undefined && bound !== prefix;
  return parts.filter((part) => !isReasoning(part) || !(isStale(part.item.prefix) || isOfOtherModel(part.item, model)));
}

function isBlank(text: string | undefined): boolean {
  return text === undefined || text.trim() === '';
}

/** A cache mark on the system text also covers the tools before it. */
function messagesSystem(system: string | undefined, marked: boolean): Pick<MessagesBody, 'system'> {
  if (system === undefined || isBlank(system)) return {};
  return { system: [{ type: 'text', text: system, ...(marked ? MARK : {}) }] };
}

function messagesTools(tools: readonly ModelTool[], marked: boolean): Pick<MessagesBody, 'tools'> {
  if (tools.length === 0) return {};
  return {
    tools: [
      ...(offersCode(tools) ? [{ type: CODE_EXECUTION, name: 'code_execution' } as const] : []),
      ...tools.map((tool, index) => ({
        name: tool.name,
        description: toolDescription(tool),
        input_schema: { ...toolInputSchema(tool), type: 'object' as const },
        ...(isForCode(tool) ? { allowed_callers: toolCallers(tool) } : {}),
        ...(marked && index === tools.length - 1 ? MARK : {}),
      })),
    ],
  };
}

function toolCallers(tool: ModelTool): ('direct' | typeof CODE_EXECUTION)[] {
  return isDirect(tool) ? ['direct', CODE_EXECUTION] : [CODE_EXECUTION];
}

/**
 * Code needs the schema of a tool's result. The format has no member for this schema, so the description contains it.
 */
function toolDescription(tool: ModelTool): string {
  if (!isForCode(tool)) return tool.description;
  const schema = tool.type === 'function' && tool.outputSchema;
  return `${tool.description}\n\nIn code, a call of this tool returns JSON text${schema ? ` of this schema: ${JSON.stringify(schema)}` : ''}.`;
}

function messagesToolChoice(prompt: Prompt): Pick<MessagesBody, 'tool_choice'> {
  const { tools = [], parallelToolCalls: parallel } = prompt;
  if (tools[0] === NO_TOOL) return { tool_choice: { type: 'none' } };
  const toolChoice = modelToolChoice(prompt);
  // If code can call tools, the service refuses a limit of parallel calls, and the choice of a tool that only code can
  // call.
  const parallelToolCalls = offersCode(tools) ? undefined : parallel;
  const named = typeof toolChoice === 'object' ? tools.find(({ name }) => name === toolChoice.name) : undefined;
  const choice = named === undefined || isDirect(named) ? toolChoice : undefined;
  if (tools.length === 0 || (choice === undefined && parallelToolCalls !== false)) return {};
  const single = parallelToolCalls === false ? { disable_parallel_tool_use: true as const } : {};
  if (typeof choice === 'object') return { tool_choice: { type: 'tool', name: choice.name, ...single } };
  return { tool_choice: { type: choice === 'required' ? 'any' : 'auto', ...single } };
}

const MIN_BUDGET = 1024;
const BUDGET_SHARES = { minimal: 0.1, low: 0.2, medium: 0.4, high: 0.6, xhigh: 0.75, max: 0.9 } as const;

function outputConfig(prompt: Prompt, config: MessagesBody['output_config']): Pick<MessagesBody, 'output_config'> {
  const schema = answerFormat('anthropic-messages', prompt);
  return schema === undefined
    ? {}
    : { output_config: { ...config, format: { type: 'json_schema', schema: { ...schema } } } };
}

function messagesThinking(
  { model, reasoningEffort: effort }: Prompt,
  maxTokens: number,
  { thinking = effortShape(model), thinkingDisplay }: MessagesSettings,
): Pick<MessagesBody, 'thinking' | 'output_config'> {
  const facts = modelFacts(model);
  const display = thinkingDisplay ?? (facts.thinkingDisplay === 'omitted' ? 'summarized' : undefined);
  const shown = nonNull({ display });
  if (effort === undefined)
    return facts.thinksByDefault === true && display !== undefined ? { thinking: { type: 'adaptive', ...shown } } : {};
  if (effort === 'none') return leastThinking(model, shown);
  if (thinking === 'adaptive') {
    const nearest = nearestEffort(facts, effort === 'minimal' ? 'low' : effort) as MessagesEffort;
    return { thinking: { type: 'adaptive', ...shown }, output_config: { effort: nearest } };
  }
  const budget = Math.max(MIN_BUDGET, Math.floor(maxTokens * BUDGET_SHARES[effort]));
  return budget < maxTokens ? { thinking: { type: 'enabled', budget_tokens: budget, ...shown } } : {};
}

/** The least thinking that a model accepts. */
function leastThinking(model: string, shown: ThinkingDisplay): Pick<MessagesBody, 'thinking' | 'output_config'> {
  const { thinking: accepted = ['disabled'], thinksByDefault } = modelFacts(model);
  for (const type of ['disabled', 'between_tools'] as const) if (accepted.includes(type)) return { thinking: { type } };
  return thinksByDefault === false
    ? {}
    : { thinking: { type: 'adaptive', ...shown }, output_config: { effort: 'low' } };
}

/**
 * Marks the last user message, because the next request starts with the same messages, and the user message before it,
 * because the previous request marked that message. The mark on the system text or the tools is the third of the four
 * allowed marks.
 */
function withMarks(messages: readonly MessagesMessage[]): MessagesMessage[] {
  const ofCode = new Set(messages.flatMap(callsOfCode));
  const isPlace = ({ role, content }: MessagesMessage): boolean =>
    role === 'user' && !content.some((block) => block.type === 'tool_result' && ofCode.has(block.tool_use_id));
  const places = messages.flatMap((message, index) => (isPlace(message) ? [index] : [])).slice(-2);
  return messages.map((message, index) => (places.includes(index) ? withMark(message) : message));
}

/**
 * The ids of calls whose results code reads. The model does not read these results, so they are not part of a cached
 * prefix.
 */
function callsOfCode({ role, content }: MessagesMessage): string[] {
  if (role === 'user') return [];
  return content.flatMap((block) =>
    'caller' in block && block.caller !== undefined && block.caller.type !== 'direct' ? [block.id] : [],
  );
}

function withMark(message: MessagesMessage): MessagesMessage {
  if (message.role === 'assistant') return message;
  const last = message.content.length - 1;
  return {
    ...message,
    content: message.content.map((block, index) => (index === last ? { ...block, ...MARK } : block)),
  };
}

function turnMessages(turn: ConversationTurn, tools: readonly ModelTool[]): MessagesMessage[] {
  switch (turn.type) {
    case 'user':
      return userMessage([{ type: 'text', text: turn.text }, ...turn.attached]);
    case 'system':
      // Some models of this format accept a system message only at the start.
      return userMessage([{ type: 'text', text: `<system>\n${turn.text}\n</system>` }, ...turn.attached]);
    case 'late_result':
      return userMessage(wrapResult(turn.result.callId, turn.result.parts));
    case 'answer':
      return answerMessages(turn, tools);
  }
}

function userMessage(parts: readonly ModelPart[]): MessagesMessage[] {
  const content = contentBlocks(parts);
  return content.length === 0 ? [] : [{ role: 'user', content }];
}

/** The service rejects blocks that contain only white space. */
function contentBlocks(parts: readonly ModelPart[]): ContentBlock[] {
  return parts.flatMap((part): ContentBlock[] => {
    if (part.type === 'text') return isBlank(part.text) ? [] : [{ type: 'text', text: part.text }];
    if (part.type === 'file') return [documentBlock(part)];
    return [{ type: 'image', source: { type: 'base64', media_type: part.media_type, data: part.data } }];
  });
}

/** The only files of this format are PDFs: see `takesFile`. */
function documentBlock({ name, data }: FilePart): DocumentBlock {
  return { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data }, title: name };
}

/** The answer, then one message with the results of its calls and the results of scripts in its text. */
function answerMessages({ parts, results, textResults }: AnswerTurn, tools: readonly ModelTool[]): MessagesMessage[] {
  const answer = withoutLooseReasoning(parts).flatMap((part) => answerBlocks(part, tools));
  const following: UserBlock[] = [
    ...results.map(toolResultBlock),
    ...textResults.flatMap(({ callId, parts: result }) => contentBlocks(wrapResult(callId, result))),
  ];
  return [
    ...(answer.length === 0 ? [] : [{ role: 'assistant' as const, content: answer }]),
    ...(following.length === 0 ? [] : [{ role: 'user' as const, content: following }]),
  ];
}

function toolResultBlock({ call, success, parts }: AnsweredCall): ToolResultBlock {
  const text = textOfParts(parts);
  // Code reads only text.
  const showsImages = hasImages(parts) && !isOfCode('anthropic-messages', call);
  return {
    type: 'tool_result',
    tool_use_id: call.id,
    // The service rejects a failed result without text.
    content: showsImages ? contentBlocks(parts) : isBlank(text) && !success ? 'The call failed.' : text,
    ...(success ? {} : { is_error: true as const }),
  };
}

function answerBlocks(part: AnswerPart, tools: readonly ModelTool[]): AnswerBlock[] {
  switch (part.type) {
    case 'text':
      return textBlocks(part);
    case 'reasoning':
      return thinkingBlocks(part.item);
    case 'hosted':
      return isNativeTo('anthropic-messages', part.item) ? [sentBack(part.item.native) as OpaqueBlock] : [];
    case 'call':
      return [toolUseBlock(part.call, tools)];
  }
}

function textBlocks({ text, item }: Extract<AnswerPart, { type: 'text' }>): AnswerBlock[] {
  if (isBlank(text)) return [];
  const citations = isNativeTo('anthropic-messages', item) ? wireList(item.citations) : [];
  return [sentBack({ type: 'text', text, ...(citations.length === 0 ? {} : { citations }) }) as TextBlock];
}

/** Thinking blocks are signed, so they are sent back byte for byte or omitted. */
function thinkingBlocks(item: Extract<AnswerPart, { type: 'reasoning' }>['item']): AnswerBlock[] {
  if (!isNativeTo('anthropic-messages', item)) return [];
  if (isMembers(item.native)) return [sentBack(item.native) as OpaqueBlock];
  const signature = wireName(item.signature);
  return signature === undefined ? [] : [{ type: 'thinking', thinking: item.content, signature }];
}

function toolUseBlock(call: Call, tools: readonly ModelTool[]): AnswerBlock {
  const { id, name, item } = call;
  const caller = isNativeTo('anthropic-messages', item) ? item?.caller : undefined;
  return {
    type: 'tool_use',
    id,
    name,
    input: toolUseInput(call, tools),
    ...(nonNull({ caller }) as { caller?: Caller | undefined }),
  };
}

function toolUseInput({ name, arguments: text, custom }: Call, tools: readonly ModelTool[]): Members {
  return JSON.parse(custom ? argumentsOfText(text, name, tools) : objectJson(text)) as Members;
}

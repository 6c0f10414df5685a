import { z } from 'zod';
import { CacheMark, CallId, JsonSchemaObject, Name, readAs } from './read-wire.js';
import { wireMembers, type Members } from '../wire-values.js';
import { reasoningBlob, Violation, type SeenMessage, type SeenRequest, type SpokenPart } from './seen-request.js';

const mark = { cache_control: CacheMark.optional() };

const Visible = z.string().refine((text) => text.trim() !== '', 'text content blocks must contain non-whitespace text');

const Text = z.strictObject({
  type: z.literal('text'),
  text: Visible,
  citations: z.array(z.unknown()).optional(),
  ...mark,
});

const Image = z.strictObject({
  type: z.literal('image'),
  source: z.strictObject({
    type: z.literal('base64'),
    media_type: z.enum(['image/png', 'image/jpeg', 'image/gif', 'image/webp']),
    data: z.string().min(1),
  }),
  ...mark,
});

const Document = z.strictObject({
  type: z.literal('document'),
  source: z.strictObject({
    type: z.literal('base64'),
    media_type: z.literal('application/pdf'),
    data: z.string().min(1),
  }),
  title: z.string().optional(),
  ...mark,
});

const ToolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: CallId,
  content: z.union([z.string(), z.array(z.discriminatedUnion('type', [Text, Image]))]).optional(),
  is_error: z.boolean().optional(),
  ...mark,
});

const Result = ToolResult.refine(
  ({ content, is_error }) => is_error !== true || (content !== undefined && content.length > 0),
  'content cannot be empty if is_error is true',
);

const AnswerBlock = z.discriminatedUnion('type', [
  Text,
  z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string().min(1) }),
  z.strictObject({ type: z.literal('redacted_thinking'), data: z.string().min(1) }),
  z.strictObject({
    type: z.literal('tool_use'),
    id: z.string().regex(/^[\w-]+$/u),
    name: Name,
    input: z.record(z.string(), z.unknown()),
    caller: z.looseObject({ type: z.string() }).optional(),
    ...mark,
  }),
]);
type AnswerBlock = z.infer<typeof AnswerBlock>;

const ToolUseId = z.string().regex(/^[\w-]+$/u);

/** Calls of tools that the service runs, and their results. */
const HostedCall = z.looseObject({
  type: z.enum(['server_tool_use', 'mcp_tool_use']),
  id: ToolUseId,
  name: Name,
  input: z.record(z.string(), z.unknown()),
});
const HostedResult = z.looseObject({
  type: z.string().regex(/^(?!tool_result)\w+_tool_result$/u),
  tool_use_id: ToolUseId,
});
const HostedBlock = z.union([HostedCall, HostedResult]);
type HostedBlock = z.infer<typeof HostedBlock>;

function isOwnBlock(block: AnswerBlock | HostedBlock): block is AnswerBlock {
  return AnswerBlock.safeParse(block).success;
}

const UserBlock = z.discriminatedUnion('type', [Text, Image, Document, Result]);

const Message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('user'), content: z.union([Visible, z.array(UserBlock).min(1)]) }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.union([Visible, z.array(z.union([AnswerBlock, HostedBlock])).min(1)]),
  }),
]);
type Message = z.infer<typeof Message>;

const ThinkingDisplay = z.enum(['summarized', 'omitted']).optional();

const Body = z.strictObject({
  model: z.string().min(1),
  max_tokens: z.number().int().min(1),
  system: z.union([z.string(), z.array(Text)]).optional(),
  messages: z.array(Message).min(1),
  tools: z
    .array(z.strictObject({ name: Name, description: z.string().optional(), input_schema: JsonSchemaObject, ...mark }))
    .optional(),
  tool_choice: z
    .union([
      z.strictObject({ type: z.enum(['auto', 'any']), disable_parallel_tool_use: z.boolean().optional() }),
      z.strictObject({ type: z.literal('tool'), name: Name, disable_parallel_tool_use: z.boolean().optional() }),
      z.strictObject({ type: z.literal('none') }),
    ])
    .optional(),
  temperature: z.number().min(0).max(1).optional(),
  stop_sequences: z.array(z.string()).optional(),
  service_tier: z.string().optional(),
  thinking: z
    .union([
      z.strictObject({ type: z.enum(['disabled', 'between_tools']) }),
      z.strictObject({ type: z.literal('adaptive'), display: ThinkingDisplay }),
      z.strictObject({
        type: z.literal('enabled'),
        budget_tokens: z.number().int().min(1024),
        display: ThinkingDisplay,
      }),
    ])
    .optional(),
  output_config: z
    .strictObject({
      effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).optional(),
      format: z.strictObject({ type: z.literal('json_schema'), schema: JsonSchemaObject }).optional(),
    })
    .optional(),
  stream: z.literal(true),
});

const MAX_MARKS = 4;

/** @throws Violation if the request breaks the format. */
export function readMessages(value: unknown): SeenRequest {
  const body = readAs(Body, value, 'body');
  const marks = JSON.stringify(value).split('"cache_control":{').length - 1;
  if (marks > MAX_MARKS) throw new Violation(`There are ${marks} cache marks; the maximum is ${MAX_MARKS}.`);
  if (body.thinking?.type === 'enabled' && body.thinking.budget_tokens >= body.max_tokens)
    throw new Violation('thinking.budget_tokens must be less than max_tokens.');
  checkHostedPairs(body.messages);
  if (body.messages[0]?.role !== 'user') throw new Violation('The first message must be a user message.');
  return {
    api: 'anthropic-messages',
    model: body.model,
    frozen: withoutMarks([body.system, body.tools]),
    tools: new Map((body.tools ?? []).map(({ name }) => [name, 'function' as const])),
    stopSequences: body.stop_sequences ?? [],
    messages: body.messages.map(seenTurnMessage),
    sealsReasoning: true,
    text: JSON.stringify(value),
  };
}

function withoutMarks(value: unknown): string {
  return JSON.stringify(value, (name, member: unknown) => (name === 'cache_control' ? undefined : member));
}

function seenTurnMessage(message: Message): SeenMessage {
  const json = withoutMarks(message);
  if (message.role === 'assistant')
    return { json, by: 'assistant', spoken: spokenBlocks(message.content), results: [] };
  return { json, by: 'other', spoken: [], results: toolResultIds(message.content) };
}

function toolResultIds(content: string | readonly z.infer<typeof UserBlock>[]): string[] {
  if (typeof content === 'string') return [];
  const isResult = content.map(({ type }) => type === 'tool_result');
  if (isResult.lastIndexOf(true) >= (isResult.includes(false) ? isResult.indexOf(false) : Infinity))
    throw new Violation('tool_result blocks must come first in their message.');
  return content.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : []));
}

/** A message, as far as `checkHostedPairs` reads it. */
interface HostedMessage {
  readonly role: string;
  readonly content: string | readonly Members[];
}

/**
 * A hosted call has its result in its own message. Only results of other calls may come between: the next message of
 * the assistant then begins with the result, or with a call of the code that waits.
 *
 * @throws Violation
 */
export function checkHostedPairs(messages: readonly HostedMessage[]): void {
  const open = new Set<unknown>();
  for (const [index, { role, content }] of messages.entries()) {
    const carried = new Set(open);
    for (const block of typeof content === 'string' ? [{ type: 'text' }] : content) {
      const { type, id, tool_use_id: result, caller } = block as Members;
      const isRest = role === 'user' ? type === 'tool_result' : open.has(result ?? wireMembers(caller).tool_id);
      if (carried.size > 0 && !isRest)
        throw new Violation(
          `messages.${index}: \`server_tool_use\` with id ${String([...carried][0])} has no result block. Send both or none.`,
        );
      if (role === 'user') continue;
      carried.delete(result);
      if (result !== undefined && !open.delete(result))
        throw new Violation(`messages.${index}: the result of ${String(result)} has no call before it.`);
      if (type === 'server_tool_use' || type === 'mcp_tool_use') open.add(id);
    }
  }
}

function spokenBlocks(content: string | readonly (AnswerBlock | HostedBlock)[]): SpokenPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.filter(isOwnBlock).map((block): SpokenPart => {
    switch (block.type) {
      case 'text':
        return { type: 'text', text: block.text };
      case 'thinking':
        return { type: 'reasoning', blob: reasoningBlob(block.thinking, block.signature) };
      case 'redacted_thinking':
        return { type: 'reasoning', blob: reasoningBlob(block.data) };
      case 'tool_use':
        return { type: 'call', id: block.id, name: block.name, arguments: JSON.stringify(block.input) };
    }
  });
}

import { z } from 'zod';
import { CallId, JsonSchemaObject, Name, readAs } from './read-wire.js';
import { reasoningBlob, Violation, type SeenMessage, type SeenRequest, type SpokenPart } from './seen-request.js';

/** A text at the end of a cached prefix. */
const MarkedText = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  prompt_cache_breakpoint: z.strictObject({ mode: z.literal('explicit') }),
});

const Part = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({
    type: z.literal('image_url'),
    image_url: z.strictObject({ url: z.string().startsWith('data:image/'), detail: z.string().optional() }),
  }),
  z.strictObject({
    type: z.literal('file'),
    file: z.strictObject({
      filename: z.string().min(1),
      file_data: z.string().startsWith('data:application/pdf;base64,'),
    }),
  }),
  z.strictObject({
    type: z.literal('input_audio'),
    input_audio: z.strictObject({ data: z.string().min(1), format: z.enum(['wav', 'mp3']) }),
  }),
]);

const Call = z.strictObject({
  id: CallId,
  type: z.literal('function'),
  function: z.strictObject({ name: Name, arguments: z.string() }),
  extra_content: z.looseObject({}).optional(),
});

const Message = z.discriminatedUnion('role', [
  z.strictObject({
    role: z.enum(['system', 'developer']),
    content: z.union([z.string(), z.tuple([MarkedText])]),
  }),
  z.strictObject({ role: z.literal('user'), content: z.union([z.string(), z.array(Part).min(1)]) }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.string().nullable().optional(),
    refusal: z.string().nullable().optional(),
    tool_calls: z.array(Call).min(1).optional(),
    reasoning_content: z.string().optional(),
    reasoning: z.string().optional(),
    reasoning_details: z.array(z.looseObject({})).optional(),
  }),
  z.strictObject({
    role: z.literal('tool'),
    tool_call_id: CallId,
    content: z.union([z.string(), z.array(z.strictObject({ type: z.literal('text'), text: z.string() }))]),
  }),
]);
type Message = z.infer<typeof Message>;

const Body = z.strictObject({
  model: z.string().min(1),
  messages: z.array(Message).min(1),
  tools: z
    .array(
      z.strictObject({
        type: z.literal('function'),
        function: z.strictObject({ name: Name, description: z.string().optional(), parameters: JsonSchemaObject }),
      }),
    )
    .optional(),
  tool_choice: z
    .union([
      z.enum(['auto', 'required']),
      z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: Name }) }),
    ])
    .optional(),
  parallel_tool_calls: z.boolean().optional(),
  max_tokens: z.number().int().min(1).optional(),
  max_completion_tokens: z.number().int().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  reasoning_effort: z.string().optional(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).optional(),
  response_format: z
    .strictObject({
      type: z.literal('json_schema'),
      json_schema: z.strictObject({ name: Name, schema: JsonSchemaObject, strict: z.boolean().optional() }),
    })
    .optional(),
  prompt_cache_key: z.string().optional(),
  service_tier: z.string().optional(),
  stream: z.literal(true),
  stream_options: z.strictObject({ include_usage: z.boolean() }).optional(),
});

/** @throws Violation if the request breaks the format. */
export function readChat(value: unknown): SeenRequest {
  const body = readAs(Body, value, 'body');
  const [first, ...others] = body.messages;
  const hasSystem = first?.role === 'system' || first?.role === 'developer';
  const messages = hasSystem ? others : body.messages;
  return {
    api: 'openai-chat',
    model: body.model,
    frozen: JSON.stringify([hasSystem ? first : undefined, body.tools]),
    tools: new Map((body.tools ?? []).map((tool) => [tool.function.name, 'function' as const])),
    stopSequences: typeof body.stop === 'string' ? [body.stop] : (body.stop ?? []),
    messages: messages.map(seenChatMessage),
    sealsReasoning: true,
    text: JSON.stringify(value),
  };
}

function seenChatMessage(message: Message): SeenMessage {
  return {
    json: JSON.stringify(message),
    by: message.role === 'assistant' ? 'assistant' : 'other',
    spoken: message.role === 'assistant' ? spokenChatParts(message) : [],
    results: message.role === 'tool' ? [message.tool_call_id] : [],
  };
}

function spokenChatParts(message: Extract<Message, { role: 'assistant' }>): SpokenPart[] {
  const { content, refusal, tool_calls: calls = [], reasoning_content: reasoning } = message;
  const text = (content ?? '') + (refusal ?? '');
  if (text === '' && calls.length === 0 && reasoning === undefined)
    throw new Violation('An assistant message has neither content nor tool_calls.');
  return [
    ...(reasoning === undefined ? [] : [{ type: 'reasoning' as const, blob: reasoningBlob(reasoning) }]),
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...calls.map((call): SpokenPart => ({ type: 'call', id: call.id, ...call.function })),
  ];
}

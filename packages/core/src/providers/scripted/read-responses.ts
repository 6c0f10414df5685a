import { z } from 'zod';
import { CallId, JsonSchemaObject, Name, readAs } from './read-wire.js';
import { reasoningBlob, Violation, type SeenMessage, type SeenRequest, type SpokenPart } from './seen-request.js';

/** The mark at the end of a cached prefix. */
const breakpoint = { prompt_cache_breakpoint: z.strictObject({ mode: z.literal('explicit') }).optional() };

const InputPart = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('input_text'), text: z.string(), ...breakpoint }),
  z.strictObject({
    type: z.literal('input_image'),
    image_url: z.string().startsWith('data:image/'),
    detail: z.enum(['auto', 'low', 'high']).optional(),
  }),
  z.strictObject({
    type: z.literal('input_file'),
    filename: z.string().min(1),
    file_data: z.string().startsWith('data:application/pdf;base64,'),
  }),
]);

const OutputPart = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('output_text'),
    text: z.string(),
    annotations: z.array(z.unknown()),
    logprobs: z.array(z.unknown()).optional(),
  }),
  z.strictObject({ type: z.literal('refusal'), refusal: z.string() }),
]);

const Status = z.enum(['in_progress', 'completed', 'incomplete']);
const Caller = z.looseObject({ type: z.string() });
const callMembers = {
  id: z.string().optional(),
  call_id: CallId,
  name: Name,
  namespace: z.string().optional(),
  async: z.boolean().optional(),
  caller: Caller.optional(),
};
const Output = z.union([z.string(), z.array(InputPart).min(1)]);

const Item = z.union([
  z.strictObject({
    type: z.literal('message').optional(),
    role: z.enum(['user', 'developer', 'system']),
    content: z.union([z.string(), z.array(InputPart).min(1)]),
  }),
  z.strictObject({
    type: z.literal('message').optional(),
    role: z.literal('assistant'),
    content: z.union([z.string(), z.array(OutputPart)]),
    id: z.string().optional(),
    status: Status.optional(),
    phase: z.enum(['commentary', 'final_answer']).optional(),
  }),
  z.strictObject({
    type: z.literal('reasoning'),
    id: z.string().optional(),
    summary: z.array(z.strictObject({ type: z.literal('summary_text'), text: z.string() })),
    content: z.array(z.strictObject({ type: z.literal('reasoning_text'), text: z.string() })).optional(),
    encrypted_content: z.string().optional(),
    status: Status.optional(),
  }),
  z.strictObject({
    type: z.literal('function_call'),
    ...callMembers,
    arguments: z.string(),
    status: Status.optional(),
  }),
  z.strictObject({ type: z.literal('custom_tool_call'), ...callMembers, input: z.string() }),
  z.strictObject({
    type: z.enum(['function_call_output', 'custom_tool_call_output']),
    call_id: CallId,
    output: Output,
    caller: Caller.optional(),
  }),
]);
type Item = z.infer<typeof Item>;

const Tool = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('function'),
    name: Name,
    description: z.string().optional(),
    parameters: JsonSchemaObject,
    strict: z.boolean(),
  }),
  z.strictObject({
    type: z.literal('custom'),
    name: Name,
    description: z.string().optional(),
    format: z.looseObject({ type: z.string() }).optional(),
  }),
]);

const Body = z.strictObject({
  model: z.string().min(1),
  instructions: z.string().optional(),
  input: z.union([z.string(), z.array(Item)]),
  tools: z.array(Tool).optional(),
  max_output_tokens: z.number().int().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  reasoning: z.strictObject({ effort: z.string().optional(), summary: z.string().optional() }).optional(),
  text: z
    .strictObject({
      format: z.strictObject({
        type: z.literal('json_schema'),
        name: Name,
        schema: JsonSchemaObject,
        strict: z.boolean().optional(),
      }),
    })
    .optional(),
  include: z.array(z.string()).optional(),
  prompt_cache_key: z.string().optional(),
  tool_choice: z
    .union([z.enum(['auto', 'required']), z.strictObject({ type: z.enum(['function', 'custom']), name: Name })])
    .optional(),
  parallel_tool_calls: z.boolean().optional(),
  store: z.boolean().optional(),
  service_tier: z.string().optional(),
  background: z.boolean().optional(),
  stream: z.literal(true),
});

/** @throws Violation if the request breaks the format. */
export function readResponses(value: unknown): SeenRequest {
  const body = readAs(Body, value, 'body');
  const input: Item[] = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : body.input;
  checkKinds(input);
  return {
    api: 'openai-responses',
    model: body.model,
    frozen: JSON.stringify([body.instructions, body.tools]),
    tools: new Map((body.tools ?? []).map(({ name, type }) => [name, type])),
    stopSequences: [],
    messages: input.map(seenItem),
    sealsReasoning: body.include?.includes('reasoning.encrypted_content') === true,
    isBackground: body.background,
    text: JSON.stringify(value),
  };
}

/** The output of a custom tool must answer a custom call, and the output of a function must answer a function call. */
function checkKinds(items: readonly Item[]): void {
  const calls = new Map<string, string>();
  for (const item of items) {
    if (item.type === 'function_call' || item.type === 'custom_tool_call') calls.set(item.call_id, item.type);
    if (item.type !== 'function_call_output' && item.type !== 'custom_tool_call_output') continue;
    const call = calls.get(item.call_id);
    if (call === undefined || `${call}_output` === item.type) continue;
    throw new Violation(`The output of the ${call} "${item.call_id}" is a ${item.type}. Send a ${call}_output.`);
  }
}

function seenItem(item: Item): SeenMessage {
  const isOutput = item.type === 'function_call_output' || item.type === 'custom_tool_call_output';
  const spoken = spokenItemParts(item);
  return {
    json: JSON.stringify(item),
    by: spoken === undefined ? 'other' : 'assistant',
    spoken: spoken ?? [],
    results: isOutput ? [item.call_id] : [],
  };
}

/** The output of the model in an item; undefined if the item contains none. */
function spokenItemParts(item: Item): SpokenPart[] | undefined {
  switch (item.type) {
    case 'reasoning': {
      const blob = reasoningBlob(item.encrypted_content, item.summary);
      return item.encrypted_content === undefined ? [] : [{ type: 'reasoning', blob }];
    }
    case 'function_call':
      return [{ type: 'call', id: item.call_id, name: item.name, arguments: item.arguments }];
    case 'custom_tool_call':
      return [{ type: 'call', id: item.call_id, name: item.name, arguments: item.input }];
    case 'function_call_output':
    case 'custom_tool_call_output':
      return undefined;
    default:
      return item.role === 'assistant' ? [{ type: 'text', text: contentTexts(item.content) }] : undefined;
  }
}

function contentTexts(content: string | readonly z.infer<typeof OutputPart>[]): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'refusal' ? part.refusal : part.text)).join('');
}

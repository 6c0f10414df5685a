import { z } from 'zod';

/**
 * Open Responses (https://www.openresponses.org/reference, version 2026-04-24) as schemas that allow nothing else, so a
 * member with a wrong name is found. Additional members of the OpenAI API are marked.
 */

const status = z.enum(['in_progress', 'completed', 'incomplete']);
const nullable = <Schema extends z.ZodType>(schema: Schema) => z.union([schema, z.null()]);
const count = z.number().int().min(0);

const OutputText = z.strictObject({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(z.never()),
  logprobs: z.array(z.never()).optional(),
});

const SummaryText = z.strictObject({ type: z.literal('summary_text'), text: z.string() });

const Message = z.strictObject({
  type: z.literal('message'),
  id: z.string(),
  status,
  role: z.literal('assistant'),
  content: z.array(OutputText),
});

const FunctionCall = z.strictObject({
  type: z.literal('function_call'),
  id: z.string(),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
  status,
});

const Reasoning = z.strictObject({
  type: z.literal('reasoning'),
  id: z.string(),
  /** OpenAI, and the specification's text. */
  status,
  summary: z.array(SummaryText),
});

/** Types of extensions begin with the name of the implementor, and have a status. */
const Extension = z.looseObject({ type: z.string().regex(/^toolscript:[a-z_]+$/u), id: z.string(), status });

const Item = z.union([Message, FunctionCall, Reasoning, Extension]);

const FunctionTool = z.strictObject({
  type: z.literal('function'),
  name: z.string(),
  description: nullable(z.string()),
  parameters: nullable(z.record(z.string(), z.unknown())),
  strict: nullable(z.boolean()),
});

const Choice = z.enum(['none', 'auto', 'required']);
const NamedFunction = z.strictObject({ type: z.literal('function'), name: z.string().optional() });

const Usage = z.strictObject({
  input_tokens: count,
  output_tokens: count,
  total_tokens: count,
  input_tokens_details: z.strictObject({ cached_tokens: count }),
  output_tokens_details: z.strictObject({ reasoning_tokens: count }),
});

export const ResponseSchema = z.strictObject({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.number().int(),
  completed_at: nullable(z.number().int()),
  status: z.string(),
  incomplete_details: nullable(z.strictObject({ reason: z.string() })),
  model: z.string(),
  previous_response_id: nullable(z.string()),
  instructions: nullable(z.string()),
  output: z.array(Item),
  error: nullable(z.strictObject({ code: z.string(), message: z.string() })),
  tools: z.array(FunctionTool),
  tool_choice: z.union([
    NamedFunction,
    Choice,
    z.strictObject({ type: z.literal('allowed_tools'), tools: z.array(NamedFunction), mode: Choice }),
  ]),
  truncation: z.enum(['auto', 'disabled']),
  parallel_tool_calls: z.boolean(),
  text: z.strictObject({ format: z.strictObject({ type: z.literal('text') }) }),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.number().int(),
  temperature: z.number(),
  reasoning: nullable(z.strictObject({ effort: nullable(z.string()), summary: nullable(z.string()) })),
  usage: nullable(Usage),
  max_output_tokens: nullable(z.number().int()),
  max_tool_calls: nullable(z.number().int()),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: z.string(),
  metadata: z.record(z.string().max(64), z.string().max(512)),
  safety_identifier: nullable(z.string()),
  prompt_cache_key: nullable(z.string()),
});

type Shape = Readonly<Record<string, z.ZodType>>;

const event = <Type extends string>(type: Type, members: Shape) =>
  z.strictObject({ type: z.literal(type), sequence_number: count, ...members });

const ofResponse = { response: ResponseSchema };
const ofItem = { output_index: count, item: Item };
const inItem = { item_id: z.string(), output_index: count };
const inContent = { ...inItem, content_index: count };
const inSummary = { ...inItem, summary_index: count };
const logprobs = z.array(z.never()).optional();

export const EventSchema = z.discriminatedUnion('type', [
  event('response.created', ofResponse),
  event('response.queued', ofResponse),
  event('response.in_progress', ofResponse),
  event('response.completed', ofResponse),
  event('response.failed', ofResponse),
  event('response.incomplete', ofResponse),
  event('response.output_item.added', ofItem),
  event('response.output_item.done', ofItem),
  event('response.content_part.added', { ...inContent, part: OutputText }),
  event('response.content_part.done', { ...inContent, part: OutputText }),
  event('response.output_text.delta', { ...inContent, delta: z.string().min(1), logprobs }),
  event('response.output_text.done', { ...inContent, text: z.string(), logprobs }),
  event('response.reasoning_summary_part.added', { ...inSummary, part: SummaryText }),
  event('response.reasoning_summary_part.done', { ...inSummary, part: SummaryText }),
  event('response.reasoning_summary_text.delta', { ...inSummary, delta: z.string().min(1) }),
  event('response.reasoning_summary_text.done', { ...inSummary, text: z.string() }),
  event('response.function_call_arguments.delta', { ...inItem, delta: z.string().min(1) }),
  /** `name` belongs to OpenAI. */
  event('response.function_call_arguments.done', { ...inItem, name: z.string(), arguments: z.string() }),
  event('error', {
    error: z.strictObject({
      type: z.string(),
      code: nullable(z.string()),
      message: z.string(),
      param: nullable(z.string()),
    }),
  }),
]);
export type SpecifiedEvent = z.infer<typeof EventSchema>;

export const ErrorSchema = z.strictObject({
  error: z.strictObject({
    message: z.string().min(1),
    type: z.enum(['invalid_request_error', 'rate_limit_error', 'server_error']),
    code: nullable(z.string()),
    param: nullable(z.string()),
  }),
});

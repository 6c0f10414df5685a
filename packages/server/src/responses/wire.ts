import { z } from 'zod';

/**
 * The shapes that clients of the OpenAI Responses API read, as Open Responses specifies them
 * (https://www.openresponses.org/specification). All members are snake_case.
 */

/** The prefix of item types that Open Responses does not define. */
export const EXTENSION_PREFIX = 'toolscript:';

/** The value of `include` that requests scripts, their results, and the calls that the server made. */
export const INCLUDE_SCRIPTS = 'toolscript:script_execution';

const ItemStatusSchema = z.enum(['in_progress', 'completed', 'incomplete']);

const OutputTextSchema = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(z.never()),
  logprobs: z.array(z.never()),
});

const SummaryTextSchema = z.object({ type: z.literal('summary_text'), text: z.string() });

const MessageSchema = z.object({
  type: z.literal('message'),
  id: z.string(),
  status: ItemStatusSchema,
  role: z.literal('assistant'),
  content: z.array(OutputTextSchema),
});
export type WireMessage = z.infer<typeof MessageSchema>;

const ReasoningSchema = z.object({
  type: z.literal('reasoning'),
  id: z.string(),
  status: ItemStatusSchema,
  summary: z.array(SummaryTextSchema),
});
export type WireReasoning = z.infer<typeof ReasoningSchema>;

const FunctionCallSchema = z.object({
  type: z.literal('function_call'),
  id: z.string(),
  status: ItemStatusSchema,
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
});
export type WireFunctionCall = z.infer<typeof FunctionCallSchema>;

const ExtensionItemSchema = z.looseObject({
  type: z.enum([
    'toolscript:script_execution',
    'toolscript:script_execution_output',
    'toolscript:function_call',
    'toolscript:function_call_output',
  ]),
  id: z.string(),
  status: ItemStatusSchema,
});
export type ExtensionItem = z.infer<typeof ExtensionItemSchema>;

const WireItemSchema = z.discriminatedUnion('type', [
  MessageSchema,
  ReasoningSchema,
  FunctionCallSchema,
  ExtensionItemSchema,
]);
export type WireItem = z.infer<typeof WireItemSchema>;

const WireToolSchema = z.object({
  type: z.literal('function'),
  name: z.string(),
  description: z.string().nullable(),
  parameters: z.record(z.string(), z.unknown()).nullable(),
  strict: z.boolean(),
});
export type WireTool = z.infer<typeof WireToolSchema>;

const UsageSchema = z.object({
  input_tokens: z.number(),
  output_tokens: z.number(),
  total_tokens: z.number(),
  input_tokens_details: z.object({ cached_tokens: z.number() }),
  output_tokens_details: z.object({ reasoning_tokens: z.number() }),
});
export type WireUsage = z.infer<typeof UsageSchema>;

const StatusSchema = z.enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']);
export type WireStatus = z.infer<typeof StatusSchema>;

/** The format of the answer. */
const AnswerFormatSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({
    type: z.literal('json_schema'),
    name: z.string(),
    description: z.string().nullable(),
    schema: z.record(z.string(), z.unknown()),
    strict: z.boolean(),
  }),
]);

/** The members of a request that its response repeats. */
export const RequestEchoSchema = z.object({
  model: z.string(),
  previous_response_id: z.string().nullable(),
  instructions: z.string().nullable(),
  tools: z.array(WireToolSchema),
  tool_choice: z.unknown(),
  parallel_tool_calls: z.boolean(),
  temperature: z.number(),
  max_output_tokens: z.number().nullable(),
  reasoning: z.object({ effort: z.string().nullable(), summary: z.string().nullable() }),
  truncation: z.enum(['auto', 'disabled']),
  store: z.boolean(),
  background: z.boolean(),
  metadata: z.record(z.string(), z.string()),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
  text: z.object({ format: AnswerFormatSchema }),
});
export type RequestEcho = z.infer<typeof RequestEchoSchema>;

export const ResponseSchema = z.object({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.number().int(),
  completed_at: z.number().int().nullable(),
  status: StatusSchema,
  incomplete_details: z.object({ reason: z.string() }).nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  output: z.array(WireItemSchema),
  usage: UsageSchema.nullable(),
  ...RequestEchoSchema.shape,
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.number(),
  max_tool_calls: z.null(),
  service_tier: z.literal('default'),
});
export type ResponseResource = z.infer<typeof ResponseSchema>;

export const DeletedResponseSchema = z.object({
  id: z.string(),
  object: z.literal('response'),
  deleted: z.literal(true),
});

export const InputItemsSchema = z.object({
  object: z.literal('list'),
  data: z.array(z.looseObject({ type: z.string(), id: z.string() })),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
});

export const ModelSchema = z.object({
  id: z.string(),
  object: z.literal('model'),
  created: z.number().int(),
  owned_by: z.string(),
});

export const ModelsSchema = z.object({ object: z.literal('list'), data: z.array(ModelSchema) });

/** An event of a streamed response. */
export interface WireEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly [member: string]: unknown;
}

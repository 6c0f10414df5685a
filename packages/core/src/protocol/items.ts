import { z } from 'zod';
import { ErrorCodeSchema, OperationSchema } from './operations.js';
import { snakeCaseSchema } from './spelling.js';

/**
 * Items of a conversation in their serialized form: JSON, snake_case. Unknown members of an item (a provider's own
 * blobs) are kept unchanged.
 */

export const DiagnosticSchema = z.looseObject({
  severity: z.enum(['error', 'warning', 'info']),
  message: z.string(),
  line: z.number().optional(),
  column: z.number().optional(),
  code: z.string(),
});

export const PlannedCallSchema = z.looseObject({
  tool: z.string(),
  line: z.number(),
  column: z.number(),
  /** The argument object, if every part of it is literal. */
  input: z.unknown().optional(),
  /** Whether the call may run many times, for example inside a loop or a callback. */
  repeated: z.boolean(),
  /** Whether the call may be skipped, for example inside a branch or after an early return. */
  conditional: z.boolean(),
});

export const ItemErrorSchema = z.looseObject({
  code: ErrorCodeSchema,
  message: z.string(),
  phase: z.enum(['detecting', 'parsing', 'checking', 'executing', 'finalizing']),
  line: z.number().optional(),
  column: z.number().optional(),
  tool_name: z.string().optional(),
  call_id: z.string().optional(),
  stack: z.string().optional(),
  frame: z.string().optional(),
  hint: z.string().optional(),
  retryable: z.boolean(),
  metadata: z.record(z.string(), z.unknown()),
});

export const OperationItemSchema = snakeCaseSchema(OperationSchema);

/** Limits for the images of one result or message: the maximum number of images, and the maximum bytes of each. */
export const MAX_IMAGES = 8;
export const MAX_IMAGE_BYTES = 5 * 1024 * 1024;

/**
 * An image of the conversation. Items store the image without `data`, as a reference. The bytes are read when the input
 * of a model is built.
 */
export const ImagePartSchema = z.looseObject({
  type: z.literal('image'),
  media_type: z.enum(['image/png', 'image/jpeg', 'image/gif', 'image/webp']),
  /** The path by which the host finds the image. */
  path: z.string().optional(),
  /** SHA-256 of the bytes, 64 hexadecimal digits. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/u),
  /** The bytes as base64. */
  data: z.string().optional(),
});
/** An image in a message or a result: its bytes in base64, or a reference that the host resolves. */
export type ImagePart = z.infer<typeof ImagePartSchema>;

/** A file of a user's message that some models read, besides images and text: a PDF, or a recording. */
export const FilePartSchema = z.looseObject({
  type: z.literal('file'),
  media_type: z.enum(['application/pdf', 'audio/wav', 'audio/mpeg']),
  name: z.string(),
  /** SHA-256 of the bytes, 64 hexadecimal digits. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/u),
  /** The bytes as base64. */
  data: z.string(),
});
/** A PDF or a recording in a user's message, with its bytes in base64. */
export type FilePart = z.infer<typeof FilePartSchema>;

const LogItemSchema = z.looseObject({
  level: z.enum(['log', 'info', 'warn', 'error', 'debug']),
  text: z.string(),
  at_ms: z.number(),
});

const OutcomeMetadataSchema = z.looseObject({
  duration_ms: z.number(),
  compute_ms: z.number(),
  approval_wait_ms: z.number(),
  tool_calls_made: z.number(),
  memory_used_mb: z.number(),
  cache_hit: z.boolean(),
  compilation_cache_hit: z.boolean(),
});

export const MessageItemSchema = z.looseObject({
  type: z.literal('message'),
  id: z.string(),
  role: z.enum(['assistant', 'user', 'system']),
  content: z.string(),
  /**
   * For a message about changes of the instructions and tools, which outlives summaries: `all` replaces what was said
   * before, `changes` adds to it.
   */
  announces: z.enum(['all', 'changes']).optional(),
  /** The tools that the message declares, because scripts have used or found them. */
  declares: z.array(z.string()).optional(),
  /** The images of a user's message, without `data`. */
  images: z.array(ImagePartSchema).optional(),
  /** The files of a user's message. */
  files: z.array(FilePartSchema).optional(),
  /** True: the message may contain text of unknown authors, as the task of a sub-agent may. */
  untrusted: z.boolean().optional(),
});

export const ReasoningItemSchema = z.looseObject({
  type: z.literal('reasoning'),
  id: z.string(),
  content: z.string(),
});

export const FunctionCallItemSchema = z.looseObject({
  type: z.literal('function_call'),
  id: z.string(),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
  /** True: the service ran the call itself, so that the call gets no result. */
  hosted: z.boolean().optional(),
});

export const FunctionCallOutputItemSchema = z.looseObject({
  type: z.literal('function_call_output'),
  id: z.string(),
  call_id: z.string(),
  output: z.string(),
  success: z.boolean(),
  /** The `call_id` of the hosted code that reads the result. Undefined if the model reads the result. */
  read_by: z.string().optional(),
  /** The images of the result, without `data`. */
  images: z.array(ImagePartSchema).optional(),
  /** True: the result contains text of unknown authors. */
  untrusted: z.boolean().optional(),
});

export const ScriptExecutionItemSchema = z.looseObject({
  type: z.literal('script_execution'),
  id: z.string(),
  call_id: z.string(),
  language: z.enum(['ts', 'js']),
  format: z.enum(['xml', 'fence', 'tool']),
  source_code: z.string(),
  source_sha256: z.string(),
  status: z.enum(['pending', 'executing', 'suspended', 'completed', 'error']),
  plan: z.array(PlannedCallSchema).optional(),
  /** The script's id in the store. Absent until the script runs. */
  script_id: z.string().optional(),
  /**
   * The form in which the script arrived: a call of a function tool, a call of a custom tool, or a block in the
   * answer's text.
   */
  carrier: z.enum(['tool', 'custom', 'text']).optional(),
  /**
   * The whole block of a script that arrived in text, including tags. This block and the messages around it,
   * concatenated, are the model's text.
   */
  raw_text: z.string().optional(),
});

export const ScriptExecutionOutputItemSchema = z.looseObject({
  type: z.literal('script_execution_output'),
  id: z.string(),
  /** The `call_id` of the output's `script_execution`. */
  call_id: z.string(),
  script_id: z.string().optional(),
  status: z.enum(['completed', 'failed', 'suspended']),
  /** The script's value. */
  result: z.unknown().optional(),
  /** The value's JSON text; `{"partialResults": …}` after a failure. */
  output_json: z.string().optional(),
  /** The report for the model, rendered once. */
  report: z.string().optional(),
  /** `value.message`, if it is a string. */
  summary: z.string().optional(),
  output: z.string().optional(),
  logs: z.array(LogItemSchema),
  operations: z.array(OperationItemSchema),
  /** The images of the value and the operations, without `data`. */
  images: z.array(ImagePartSchema).optional(),
  diagnostics: z.array(DiagnosticSchema).optional(),
  error: ItemErrorSchema.optional(),
  /** True: the model reads text of unknown authors in the report. */
  untrusted: z.boolean().optional(),
  /** The heap from which the conversation's next script starts, if its scripts share their variables. */
  heap: z.string().optional(),
  /** The variables that the script added, with their types. */
  scope: z.array(z.object({ name: z.string(), type: z.string() })).optional(),
  /** The tools that the script found and did not call, best first. */
  found: z.array(z.string()).optional(),
  metadata: OutcomeMetadataSchema,
});

/**
 * Code that the model's provider runs itself, outside of the harness. Its calls of tools are `function_call` items whose
 * `caller` names it.
 */
export const HostedCodeItemSchema = z.looseObject({
  type: z.literal('hosted_code'),
  id: z.string(),
  call_id: z.string(),
  language: z.enum(['python', 'js']),
  source_code: z.string(),
  /** True if the code did not finish and the provider cannot resume it. */
  lost: z.boolean().optional(),
});

/** The output of hosted code, which the model reads. */
export const HostedCodeOutputItemSchema = z.looseObject({
  type: z.literal('hosted_code_output'),
  id: z.string(),
  /** The `call_id` of the output's `hosted_code`. */
  call_id: z.string(),
  output: z.string(),
  success: z.boolean(),
});

/** The work plan, as the model last updated it. */
export const PlanItemSchema = z.looseObject({
  type: z.literal('plan'),
  id: z.string(),
  /** The call that created the plan or changed it last. */
  call_id: z.string(),
  steps: z.array(z.looseObject({ step: z.string(), status: z.enum(['pending', 'in_progress', 'completed']) })),
  /** The reason for the change; empty if the model gave none. */
  explanation: z.string(),
});

/**
 * A summary of a conversation that became too long, or that the user wanted shorter. The summary replaces all earlier items when the conversation is
 * sent to the model.
 */
export const CompactionItemSchema = z.looseObject({
  type: z.literal('compaction'),
  id: z.string(),
  /** The summary, written by the model. */
  summary: z.string(),
  /** The user's last message, if there was one. */
  last_message: z.string().optional(),
  /** The size of the conversation before the summary, in tokens; an estimate. */
  tokens_before: z.number().optional(),
  /** Its size after the summary; an estimate. */
  tokens_after: z.number().optional(),
  /** True: the model had read text of unknown authors before the summary. */
  untrusted: z.boolean().optional(),
});

export const ErrorItemSchema = z.looseObject({
  type: z.literal('error'),
  id: z.string(),
  code: z.string(),
  message: z.string(),
});

export const OutputItemSchema = z.discriminatedUnion('type', [
  MessageItemSchema,
  ReasoningItemSchema,
  FunctionCallItemSchema,
  FunctionCallOutputItemSchema,
  ScriptExecutionItemSchema,
  ScriptExecutionOutputItemSchema,
  HostedCodeItemSchema,
  HostedCodeOutputItemSchema,
  PlanItemSchema,
  CompactionItemSchema,
  ErrorItemSchema,
]);

/** One item of a response or a conversation: a message, a call, a script, or a result. `type` names its kind. */
export type OutputItem = z.infer<typeof OutputItemSchema>;
export type OutputItemType = OutputItem['type'];
export type MessageItem = z.infer<typeof MessageItemSchema>;
export type ReasoningItem = z.infer<typeof ReasoningItemSchema>;
export type FunctionCallItem = z.infer<typeof FunctionCallItemSchema>;
export type FunctionCallOutputItem = z.infer<typeof FunctionCallOutputItemSchema>;
export type ScriptExecutionItem = z.infer<typeof ScriptExecutionItemSchema>;
export type HostedCodeItem = z.infer<typeof HostedCodeItemSchema>;
export type HostedCodeOutputItem = z.infer<typeof HostedCodeOutputItemSchema>;
export type PlanItem = z.infer<typeof PlanItemSchema>;
export type CompactionItem = z.infer<typeof CompactionItemSchema>;
export type ScriptExecutionOutputItem = z.infer<typeof ScriptExecutionOutputItemSchema>;

export const ResponseStatusSchema = z.enum(['completed', 'suspended', 'failed', 'cancelled', 'incomplete']);
export type ResponseStatus = z.infer<typeof ResponseStatusSchema>;

const TokenCountsSchema = z.looseObject({
  input_tokens: z.number(),
  output_tokens: z.number(),
  total_tokens: z.number().optional(),
});

export const UsageSchema = TokenCountsSchema.extend({
  /** The part of other models than the requested one, such as advisors and fallbacks, by model. */
  by_model: z.record(z.string(), TokenCountsSchema).optional(),
  /** The size of the context after the answer, if it differs from the billed tokens in `total_tokens`. */
  context_tokens: z.number().optional(),
  /**
   * True if some figures are estimates, because the provider did not report them completely. Estimates are on the high
   * side.
   */
  estimated: z.boolean().optional(),
});
export type Usage = z.infer<typeof UsageSchema>;

/** The result of folding a run's events. */
export const ResponseSchema = z.object({
  run_id: z.string(),
  thread_id: z.string(),
  turn_id: z.string(),
  status: z.enum(['in_progress', ...ResponseStatusSchema.options]),
  output_items: z.array(OutputItemSchema),
  usage: UsageSchema.optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});
export type Response = z.infer<typeof ResponseSchema>;

/**
 * Members that a host with its own conversation adds to a script's item: ids, the carrier, the text that contained the
 * script. With these members, the script's output has a `report` too. `stage` is not a member of the item. `started`:
 * the host has emitted the `item_start` of the item. `pending`: the host has emitted the whole item as pending.
 */
export type ScriptItemMembers = Partial<
  Pick<ScriptExecutionItem, 'id' | 'call_id' | 'format' | 'carrier' | 'raw_text'>
> & { readonly stage?: 'started' | 'pending' | undefined } & Readonly<Record<string, unknown>>;

import { SCRIPT_TOOL } from '@toolscript/core/agent';
import { REASONING_EFFORTS } from '@toolscript/core/internal';
import { z } from 'zod';
import { INCLUDE_SCRIPTS } from './wire.js';

/** The body of `POST /v1/responses`. The operator's configuration sets most members that change how a model samples. */

/** Maximum number of characters of one text. */
const MAX_TEXT = 1_000_000;

/** The error `code` for a member that the API has, but this server does not support. */
const UNSUPPORTED = 'unsupported_parameter';

const text = z.string().max(MAX_TEXT);

/** Rejects every value except the allowed ones, which change nothing. */
function unsupportedMember(why: string, ...allowed: readonly unknown[]) {
  return z
    .unknown()
    .refine((value) => value === undefined || value === null || allowed.includes(value), {
      error: `is not supported: ${why}`,
      params: { code: UNSUPPORTED },
    })
    .optional();
}

const SAMPLING = 'the agent’s configuration sets how its model samples. Omit it.';

const TextPart = z.looseObject({ type: z.enum(['input_text', 'output_text', 'text']), text });
const RefusalPart = z.looseObject({ type: z.literal('refusal'), refusal: text });
const ImagePart = z.looseObject({
  type: z.literal('input_image'),
  image_url: z.string().nullish(),
  file_id: unsupportedMember('files are not supported. Send the image in "image_url" as a data: URL.'),
});
export type InputImage = z.infer<typeof ImagePart>;

const FilePart = z.looseObject({
  type: z.literal('input_file'),
  filename: z.string().max(255).nullish(),
  file_data: z.string().nullish(),
  file_id: unsupportedMember('stored files are not supported. Send the file in "file_data" as a data: URL.'),
  file_url: unsupportedMember('the server fetches nothing for a client. Send the file in "file_data" as a data: URL.'),
});
export type InputFile = z.infer<typeof FilePart>;

const AudioPart = z.looseObject({
  type: z.literal('input_audio'),
  input_audio: z.looseObject({ data: z.string(), format: z.enum(['wav', 'mp3']) }),
});
export type InputAudio = z.infer<typeof AudioPart>;

const Part = z.discriminatedUnion('type', [TextPart, RefusalPart, ImagePart, FilePart, AudioPart], {
  error: 'must be input_text, output_text, refusal, input_image, input_file or input_audio. Video is not supported.',
});
export type InputPart = z.infer<typeof Part>;

const Content = z.union([text, z.array(Part).max(1000)], { error: 'must be a string, or a list of parts.' });

const CallId = z.string().min(1).max(256);

const MessageItem = z.looseObject({
  type: z.literal('message'),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: Content,
});
export type InputMessage = z.infer<typeof MessageItem>;

const CallItem = z.looseObject({
  type: z.literal('function_call'),
  call_id: CallId,
  name: z.string().min(1).max(128),
  arguments: text,
});

const CallOutputItem = z.looseObject({ type: z.literal('function_call_output'), call_id: CallId, output: Content });
export type InputCallOutput = z.infer<typeof CallOutputItem>;

/** The server stores these items itself. It ignores them if a client sends them back. */
const RepeatedItem = z.looseObject({
  type: z.enum([
    'reasoning',
    'toolscript:script_execution',
    'toolscript:script_execution_output',
    'toolscript:function_call',
    'toolscript:function_call_output',
  ]),
});

const Item = z.preprocess(
  withType,
  z.discriminatedUnion('type', [MessageItem, CallItem, CallOutputItem, RepeatedItem], {
    error:
      'must be a message, function_call, function_call_output or reasoning. For earlier items, use "previous_response_id".',
  }),
);
export type InputItem = z.infer<typeof Item>;

/** Adds the type to a message that lacks it. */
function withType(item: unknown): unknown {
  const isMessage = typeof item === 'object' && item !== null && !('type' in item) && 'role' in item;
  return isMessage ? { ...item, type: 'message' } : item;
}

const FunctionName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/u, 'must be 1 to 64 letters, digits, "_" and "-".')
  .refine((name) => name !== SCRIPT_TOOL, {
    error: 'is the name of the agent’s own tool for scripts. Give the function another name.',
  });

const Tool = z.strictObject({
  type: z.literal('function', {
    error: 'must be "function". An agent’s configuration names its other tools.',
  }),
  name: FunctionName,
  description: z.string().max(10_000).nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
});

const NamedFunction = z.looseObject({ type: z.literal('function'), name: z.string() });

const ToolChoice = z.union(
  [
    z.enum(['auto', 'none', 'required']),
    NamedFunction,
    z.looseObject({
      type: z.literal('allowed_tools'),
      mode: z.enum(['auto', 'none', 'required']).default('auto'),
      tools: z.array(NamedFunction).min(1).max(128),
    }),
  ],
  { error: 'must be "auto", "none", "required", a function by its name, or allowed_tools.' },
);

const Include = z.enum([INCLUDE_SCRIPTS, 'reasoning.encrypted_content'], {
  error: `may contain only "${INCLUDE_SCRIPTS}" and "reasoning.encrypted_content".`,
});

const Metadata = z
  .record(z.string().max(64), z.string().max(512))
  .refine((metadata) => Object.keys(metadata).length <= 16, { error: 'may have at most 16 members.' });

const AnswerFormat = z.discriminatedUnion(
  'type',
  [
    z.looseObject({ type: z.literal('text') }),
    z.strictObject({
      type: z.literal('json_schema'),
      name: FunctionName,
      description: z.string().max(10_000).nullish(),
      schema: z.record(z.string(), z.unknown()),
      strict: z.boolean().nullish(),
    }),
  ],
  { error: 'must be "text" or "json_schema".' },
);

export const CreateResponseSchema = z.strictObject({
  /** The slug or the model of an agent. Default: the agent of the previous response, or the server's default agent. */
  model: z.string().min(1).max(256).nullish(),
  /** The user's input: text, or items. */
  input: z.union([text, z.array(Item).max(10_000)], { error: 'must be a string, or a list of items.' }).nullish(),
  /** Continues the conversation of an earlier response. */
  previous_response_id: z.string().max(256).nullish(),
  /** Appended to the agent's own instructions, for this response alone. */
  instructions: text.nullish(),
  /** Functions that the client performs. */
  tools: z.array(Tool).max(128).nullish(),
  tool_choice: ToolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  /** "toolscript:script_execution": shows scripts, their results and the calls that the server made. */
  include: z.array(Include).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({}).nullish(),
  /** False: the server deletes the conversation after the response has ended. */
  store: z.boolean().nullish(),
  /** True: the server answers at once, and the response continues without the client. */
  background: z.boolean().nullish(),
  metadata: Metadata.nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  max_output_tokens: z.number().int().min(16).nullish(),
  reasoning: z
    .strictObject({
      effort: z.enum(REASONING_EFFORTS).nullish(),
      summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
      generate_summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
    })
    .nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  safety_identifier: z.string().max(64).nullish(),
  prompt_cache_key: z.string().max(64).nullish(),
  user: z.string().max(256).nullish(),
  text: z
    .strictObject({
      format: AnswerFormat.nullish(),
      verbosity: unsupportedMember(SAMPLING, 'medium'),
    })
    .nullish(),
  top_p: unsupportedMember(SAMPLING, 1),
  presence_penalty: unsupportedMember(SAMPLING, 0),
  frequency_penalty: unsupportedMember(SAMPLING, 0),
  top_logprobs: unsupportedMember(SAMPLING, 0),
  service_tier: unsupportedMember('the agent’s configuration names its provider. Omit it.', 'auto', 'default'),
  max_tool_calls: unsupportedMember('the agent’s configuration limits its runs. Omit it.'),
  conversation: unsupportedMember('use "previous_response_id".'),
  prompt: unsupportedMember('stored prompts are not supported. Send "instructions" and "input".'),
  prompt_cache_retention: unsupportedMember('the provider of the agent’s model decides about its cache. Omit it.'),
});

export type CreateResponse = z.infer<typeof CreateResponseSchema>;

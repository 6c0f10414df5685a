import { z } from 'zod';
import { ToolscriptUsageError } from '../../protocol/index.js';

/**
 * The answers of a scripted model: one turn for each request. A scenario is plain JSON, so it can be stored in a file.
 */

const TextPart = z.strictObject({ type: z.literal('text'), text: z.string().min(1) });

/** Empty text means sealed reasoning: clients cannot read it, but must send it back. */
const ReasoningPart = z.strictObject({ type: z.literal('reasoning'), text: z.string() });

const CallPart = z.strictObject({
  type: z.literal('call'),
  name: z.string().min(1),
  /** A string is sent as it is, even if it is not JSON. */
  arguments: z.union([z.record(z.string(), z.unknown()), z.string()]),
  /** Default: a unique id. */
  call_id: z.string().min(1).optional(),
});

const ScriptPart = z.strictObject({
  type: z.literal('script'),
  code: z.string(),
  /** Default: the tool `run_script` if the request offers it, otherwise a block in the text. */
  carrier: z.enum(['tool', 'custom', 'text']).optional(),
});

const RefusalPart = z.strictObject({ type: z.literal('refusal'), text: z.string().min(1) });

/** A pause. It does not split the texts before and after it. */
const WaitPart = z.strictObject({ type: z.literal('wait'), ms: z.number().int().min(0) });

/**
 * The connection breaks. Later parts are not sent, except of a background answer of Responses: its reader gets them when
 * the reader resumes the stream.
 */
const CutPart = z.strictObject({ type: z.literal('cut') });

/** An error event within the answer. Later parts are not sent. */
const ErrorPart = z.strictObject({ type: z.literal('error'), code: z.string(), message: z.string() });

const ScenarioPartSchema = z.discriminatedUnion('type', [
  TextPart,
  ReasoningPart,
  CallPart,
  ScriptPart,
  RefusalPart,
  WaitPart,
  CutPart,
  ErrorPart,
]);
export type ScenarioPart = z.infer<typeof ScenarioPartSchema>;

const AnswerTurnSchema = z.strictObject({
  type: z.literal('answer').default('answer'),
  parts: z.array(ScenarioPartSchema),
  /** The stop reason. Default: done. */
  stop: z.enum(['done', 'max_output_tokens', 'content_filter', 'context_window', 'refusal']).default('done'),
  usage: z
    .strictObject({
      input_tokens: z.number().int().min(0),
      output_tokens: z.number().int().min(0),
      cache_read_tokens: z.number().int().min(0).optional(),
      reasoning_tokens: z.number().int().min(0).optional(),
    })
    .optional(),
  /**
   * Whether the request starts a new conversation, as after a summary. If not, the request must contain the previous
   * conversation.
   */
  begins_anew: z.boolean().default(false),
  /**
   * Whether the request may change the system text, the tools and the earlier messages. It still must not contain
   * thinking that is bound to what was changed.
   */
  changes_prefix: z.boolean().default(false),
  /**
   * Whether the request is the only one of a conversation with its own system text and tools, such as that of
   * `agents.llm.chat`. The next request continues the main conversation.
   */
  aside: z.boolean().default(false),
  /** Texts that the new messages of the request must contain; otherwise the request is a violation. */
  expect: z.array(z.string()).optional(),
});
export type ScenarioAnswer = z.infer<typeof AnswerTurnSchema>;

const FailureTurnSchema = z.strictObject({
  type: z.literal('failure'),
  status: z.number().int().min(400).max(599),
  code: z.string().default('scripted_failure'),
  message: z.string().default('The scenario requests this error.'),
  headers: z.record(z.string(), z.string()).default({}),
});

/** The connection breaks before the response. */
const DropTurnSchema = z.strictObject({ type: z.literal('drop') });

export const ScenarioSchema = z.strictObject({
  turns: z.array(z.union([AnswerTurnSchema, FailureTurnSchema, DropTurnSchema])),
  /** Characters in one delta. */
  delta_length: z.number().int().min(1).default(16),
  /** Requests without this key are rejected. */
  api_key: z.string().optional(),
});
export type Scenario = z.input<typeof ScenarioSchema>;
export type ParsedScenario = z.infer<typeof ScenarioSchema>;

/** @throws ToolscriptUsageError that names the invalid members. */
export function parseScenario(value: unknown): ParsedScenario {
  const parsed = ScenarioSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'scenario'}: ${message}`);
  throw new ToolscriptUsageError('SCENARIO_INVALID', { problems: issues.join('; ') });
}

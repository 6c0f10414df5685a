import { z } from 'zod';
import { ToolscriptUsageError } from '../../protocol/index.js';

/**
 * What a scripted model says: one turn for each request that it takes. A scenario is JSON, so that it can be a file.
 */

const TextPart = z.strictObject({ type: z.literal('text'), text: z.string().min(1) });

/** Empty text is reasoning that is sealed: nobody can read it, and it goes back all the same. */
const ReasoningPart = z.strictObject({ type: z.literal('reasoning'), text: z.string() });

const CallPart = z.strictObject({
  type: z.literal('call'),
  name: z.string().min(1),
  /** A text is sent as it is, even where it is no JSON. */
  arguments: z.union([z.record(z.string(), z.unknown()), z.string()]),
  /** Default: one that is not used twice. */
  call_id: z.string().min(1).optional(),
});

const ScriptPart = z.strictObject({
  type: z.literal('script'),
  code: z.string(),
  /** Default: as the request offers it: its tool `run_script`, otherwise a block in the text. */
  carrier: z.enum(['tool', 'custom', 'text']).optional(),
});

const RefusalPart = z.strictObject({ type: z.literal('refusal'), text: z.string().min(1) });

/** Nothing is said for a while. Between two texts it does not part them. */
const WaitPart = z.strictObject({ type: z.literal('wait'), ms: z.number().int().min(0) });

/** The connection breaks. What comes after it is not said. */
const CutPart = z.strictObject({ type: z.literal('cut') });

/** An error in the midst of the answer. What comes after it is not said. */
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
  /** Why it ends. Default: because it is done. */
  stop: z.enum(['done', 'max_output_tokens', 'content_filter', 'context_window', 'refusal']).default('done'),
  usage: z
    .strictObject({
      input_tokens: z.number().int().min(0),
      output_tokens: z.number().int().min(0),
      cache_read_tokens: z.number().int().min(0).optional(),
      reasoning_tokens: z.number().int().min(0).optional(),
    })
    .optional(),
  /** Its request holds a conversation of its own, as after a summary; otherwise what was said must be in it. */
  begins_anew: z.boolean().default(false),
  /** What the new messages of the request must hold; another request is a violation. */
  expect: z.array(z.string()).optional(),
});
export type ScenarioAnswer = z.infer<typeof AnswerTurnSchema>;

const FailureTurnSchema = z.strictObject({
  type: z.literal('failure'),
  status: z.number().int().min(400).max(599),
  code: z.string().default('scripted_failure'),
  message: z.string().default('The scenario says so.'),
  headers: z.record(z.string(), z.string()).default({}),
});

/** The connection breaks before there is a response. */
const DropTurnSchema = z.strictObject({ type: z.literal('drop') });

export const ScenarioSchema = z.strictObject({
  turns: z.array(z.union([AnswerTurnSchema, FailureTurnSchema, DropTurnSchema])),
  /** Characters of one delta. */
  delta_length: z.number().int().min(1).default(16),
  /** Requests without this key are refused. */
  api_key: z.string().optional(),
});
export type Scenario = z.input<typeof ScenarioSchema>;
export type ParsedScenario = z.infer<typeof ScenarioSchema>;

/** @throws ToolscriptUsageError that names what is wrong. */
export function parseScenario(value: unknown): ParsedScenario {
  const parsed = ScenarioSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'scenario'}: ${message}`);
  throw new ToolscriptUsageError(`The scenario is not valid: ${issues.join('; ')}`);
}

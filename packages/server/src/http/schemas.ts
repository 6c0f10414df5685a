import { ErrorCodeSchema, OperationSchema } from '@toolscript/core/internal';
import {
  ApprovalRequestSchema,
  ApprovalSchema as StoredApprovalSchema,
  DecisionSchema,
  DiagnosticSchema,
  FilePartSchema,
  ImagePartSchema,
  ItemErrorSchema,
  MAX_FILES,
  OutputItemSchema,
  PlannedCallSchema,
  RunStateSchema,
  ThreadSchema as StoredThreadSchema,
} from '@toolscript/core/protocol';
import { MAX_PAGE } from '@toolscript/core/ports';
import { z } from 'zod';
import { ApiKeyDraftSchema, ApiKeySchema as StoredKeySchema } from '../access/index.js';
import { LOCAL_PRINCIPAL, RunOverridesSchema } from '@toolscript/service';

/** The shapes of requests and responses. Bodies are camelCase; events and items keep the snake_case of the protocol. */

/** Maximum number of characters of a prompt, or of all messages of `input` together. */
const MAX_PROMPT = 500_000;

export const IdSchema = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/u, 'must be 1 to 128 letters, digits, "_" or "-"');

export const ListQuerySchema = z.object({
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).optional(),
  after: z.string().max(256).optional(),
});

const PromptSchema = z.string().max(MAX_PROMPT).regex(/\S/u, 'is empty');

/** A user's message, optionally with images and files. */
const UserMessageSchema = z.strictObject({
  type: z.literal('message').optional(),
  role: z.literal('user').optional(),
  content: PromptSchema,
  images: z
    .array(z.strictObject({ media_type: ImagePartSchema.shape.media_type, data: z.base64().min(1) }))
    .max(20)
    .optional(),
  /** PDFs, and WAV and MP3 recordings. A model that does not read such files gets their names. */
  files: z
    .array(
      z.strictObject({
        name: FilePartSchema.shape.name.min(1).max(255),
        media_type: FilePartSchema.shape.media_type,
        data: z.base64().min(1),
      }),
    )
    .max(MAX_FILES)
    .optional(),
});
export type UserMessage = z.infer<typeof UserMessageSchema>;

export const SubmitBodySchema = z
  .strictObject({
    prompt: PromptSchema.optional(),
    /** Messages with their images, instead of a prompt. */
    input: z
      .array(UserMessageSchema)
      .min(1)
      .max(100)
      .refine((messages) => textLength(messages) <= MAX_PROMPT, `has more than ${MAX_PROMPT} characters of text`)
      .optional(),
    /** The thread to continue. Default: a new thread. */
    threadId: IdSchema.optional(),
    /**
     * A new thread branches from the thread `threadId` before this turn. The new thread begins with copies of the
     * earlier turns, so that a message can be edited and sent again.
     */
    branchBefore: IdSchema.optional(),
    /** Default: the thread's agent, or else the server's default agent. */
    agentId: z.string().min(1).max(64).optional(),
    /** Replaces the agent's own model by another one that the agent allows. */
    model: z.string().min(1).max(256).optional(),
    overrides: RunOverridesSchema.optional(),
    /** The JSON Schema of the final answer. `response_done` has the value as `output`. Default: the answer is text. */
    outputSchema: z.record(z.string(), z.unknown()).optional(),
  })
  .refine(({ prompt, input }) => (prompt === undefined) !== (input === undefined), {
    message: 'needs either "prompt" or "input"',
  })
  .refine(({ threadId, branchBefore }) => branchBefore === undefined || threadId !== undefined, {
    message: 'needs "threadId" together with "branchBefore"',
  });

function textLength(messages: readonly UserMessage[]): number {
  return messages.reduce((sum, { content }) => sum + content.length, 0);
}

export const SubmittedSchema = z.object({ runId: z.string(), threadId: z.string(), turnId: z.string() });

const RunSummarySchema = z.object({ runId: z.string(), turnId: z.string(), status: RunStateSchema });

const ThreadRunSchema = RunSummarySchema.extend({
  cancelRequestedAt: z.number().optional(),
  /** The number of the run's items in the thread's `items`, which are in the order of the runs. */
  itemCount: z.number(),
});

export const ThreadSummarySchema = z.object({
  threadId: z.string(),
  title: z.string(),
  agentId: z.string().optional(),
  /** `suspended` if a run of the thread waits for a decision, otherwise `running`, otherwise `queued`. */
  activeState: StoredThreadSchema.shape.activeState,
  /** The state of the thread's newest run. */
  lastState: StoredThreadSchema.shape.lastState,
  /**
   * The original thread, and the turn before which this thread branched off. The original thread may have been deleted.
   */
  branchOf: StoredThreadSchema.shape.branchOf,
  createdAt: z.number(),
  updatedAt: z.number(),
});

export const ThreadSchema = ThreadSummarySchema.extend({
  runs: z.array(ThreadRunSchema),
  items: z.array(OutputItemSchema),
  /** `one-program`: each script can use the variables of the scripts before it. */
  scripts: z.enum(['separate', 'one-program']),
  /** The variables that the next script can use, with their types in TypeScript. Absent for separate scripts. */
  scope: z.array(z.object({ name: z.string(), type: z.string() })).optional(),
});

/** A version of a file of a thread. */
export const FileSchema = z.object({
  fileKey: z.string(),
  version: z.number(),
  /** Size of the file's text, in UTF-8 bytes. */
  bytes: z.number(),
  title: z.string().optional(),
  contentType: z.string().optional(),
  /** A file from a web page has a `url`. The text of such a file is untrusted. */
  source: z.object({ kind: z.enum(['script', 'web', 'result']), url: z.string().optional() }).optional(),
  createdAt: z.number(),
  expiresAt: z.number().optional(),
});

export const RunSchema = RunSummarySchema.extend({
  threadId: z.string(),
  agentId: z.string().optional(),
  createdAt: z.number(),
  updatedAt: z.number(),
  cancelRequestedAt: z.number().optional(),
  /** The reason why the run does not continue until an operator acts. */
  stuck: z.string().optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});

/** A run with its owner, for operators. */
export const StuckRunSchema = RunSchema.extend({ principal: z.string() });

/** A stored approval, including the members of its request. */
export const ApprovalSchema = ApprovalRequestSchema.extend(
  StoredApprovalSchema.omit({ principal: true, request: true }).shape,
);

export const DecideBodySchema = z.union(
  [z.enum(['approve', 'deny']), DecisionSchema.options[1].omit({ expiresAt: true })],
  {
    error:
      'must be "approve", "deny", or { "decision": "approve" or "deny", "note"?: text, "input"?: arguments, "remember"?: "script", "plan" or "workspace" }',
  },
);

export const AgentSchema = z.object({
  agentId: z.string(),
  name: z.string(),
  description: z.string().optional(),
  model: z.string().optional(),
  /** The models that a prompt may choose. */
  models: z.array(z.string()),
  /** True for the default agent. A new thread uses this agent if the prompt has no `agentId`. */
  isDefault: z.boolean(),
  /** The reason why the agent cannot work now, and the fix. */
  problem: z.string().optional(),
  capabilities: z.object({
    /** The form in which scripts arrive from the model. */
    carrier: z.enum(['tool', 'custom', 'text', 'hosted']),
    mode: z.enum(['enabled', 'dry-run', 'disabled']).optional(),
    tools: z.array(z.string()).optional(),
    pack: z.string().optional(),
    contextWindow: z.number().optional(),
    maxTurns: z.number(),
  }),
});

export const ToolSchema = z.object({
  name: z.string(),
  description: z.string(),
  effect: z.enum(['read', 'write', 'external']),
  approval: z.string(),
  inputSchema: z.record(z.string(), z.unknown()),
  outputSchema: z.record(z.string(), z.unknown()).optional(),
  /** The declaration of the tool in TypeScript, as the model reads it. */
  declaration: z.string(),
});

/** The outcome of a script, now or at its end. */
export const OutcomeSchema = z.object({
  scriptId: z.string(),
  /** `running`: the script continues. `suspended`: it waits for the decisions of `pendingApprovals`. */
  status: z.enum(['completed', 'failed', 'suspended', 'running']),
  /** The value of a completed script. */
  value: z.unknown().optional(),
  /** The reason why the script failed. */
  error: z
    .object({
      code: ErrorCodeSchema,
      message: z.string(),
      phase: ItemErrorSchema.shape.phase,
      line: z.number().optional(),
      column: z.number().optional(),
      toolName: z.string().optional(),
      callId: z.string().optional(),
      stack: z.string().optional(),
      /** The source lines around the position. */
      frame: z.string().optional(),
      hint: z.string().optional(),
      retryable: z.boolean(),
      metadata: z.record(z.string(), z.unknown()),
    })
    .optional(),
  pendingApprovals: z.array(ApprovalRequestSchema).optional(),
  /** The text that the script has written with `text()`. */
  output: z.string(),
  /** `atMs`: the time in ms after the script's start. */
  logs: z.array(
    z.object({ level: z.enum(['log', 'info', 'warn', 'error', 'debug']), text: z.string(), atMs: z.number() }),
  ),
  operations: z.array(z.object(OperationSchema.shape)),
  diagnostics: z.array(z.object(DiagnosticSchema.shape)),
  plan: z.array(z.object(PlannedCallSchema.shape)),
  /** The use of time, calls and memory by the script. Names that end in `Ms` are times in ms. */
  metadata: z.object({
    durationMs: z.number(),
    computeMs: z.number(),
    approvalWaitMs: z.number(),
    toolCallsMade: z.number(),
    memoryUsedMb: z.number(),
    cacheHit: z.boolean(),
    compilationCacheHit: z.boolean(),
    runtime: z.string(),
  }),
});

const UndoProblemSchema = z.object({ path: z.string(), reason: z.string() });

const UndoCallSchema = z.object({
  callId: z.string(),
  tool: z.string(),
  line: z.number().optional(),
  /** The reason why the undo does not include the call. */
  reason: z.string().optional(),
});

/** The effects of an undo, planned or done. */
export const UndoReportSchema = z.object({
  scriptId: z.string(),
  direction: z.enum(['undo', 'redo']),
  /**
   * The id for the request that confirms the undo. The server refuses that request if the undo would revert other
   * changes than the preview showed.
   */
  planId: z.string().optional(),
  isDone: z.boolean(),
  /** The reason why the undo is refused. */
  refusal: z.object({ code: z.string(), message: z.string() }).optional(),
  files: z.array(
    z.object({ path: z.string(), change: z.enum(['create', 'update', 'delete']), diff: z.string().optional() }),
  ),
  /** Files that have been changed since the script changed them. The undo is refused if this list is not empty. */
  conflicts: z.array(UndoProblemSchema),
  /** Files that stay as they are, because their old content was not stored. */
  notUndoable: z.array(UndoProblemSchema),
  /** Calls that their tools undo. */
  calls: z.array(UndoCallSchema),
  /** Calls whose effects stay. */
  notUndone: z.array(UndoCallSchema),
});

export const AuditEntrySchema = z.looseObject({
  type: z.enum([
    'decision',
    'approval',
    'call_started',
    'call_ended',
    'run_submitted',
    'run_cancelled',
    'run_resumed',
    'script_cancelled',
    'thread_renamed',
    'thread_deleted',
    'file_deleted',
    'saved_deleted',
    'rule_deleted',
    'mcp_call',
    'key_added',
    'key_revoked',
    'provider_connected',
    'provider_removed',
    'undo',
  ]),
  at: z.string(),
  /** The owner of what was changed. */
  principal: z.string(),
  /** Who sent the request, or used the command. Entries about the calls of a script have none. */
  actor: z.object({ principal: z.string(), keyId: z.string().optional(), address: z.string().optional() }).optional(),
  threadId: z.string().optional(),
  turnId: z.string().optional(),
  runId: z.string().optional(),
  scriptId: z.string().optional(),
  /** Entries about other changes than calls have no call. */
  callId: z.string().optional(),
  tool: z.string().optional(),
});

export const ApiKeySchema = StoredKeySchema.omit({ sha256: true }).extend({
  /** False if the key has expired. */
  isActive: z.boolean(),
});

export const NewApiKeySchema = ApiKeySchema.extend({ token: z.string() });

function isOfOther({ name, principal = name }: { readonly name: string; readonly principal?: string | undefined }) {
  // defence: local-principal-is-reserved
  if (principal === LOCAL_PRINCIPAL) return false;
  return true;
}

export const NewKeyBodySchema = ApiKeyDraftSchema.extend({
  /** The owner of the data that the key can access. Default: the key's name. */
  principal: ApiKeyDraftSchema.shape.principal.optional(),
}).refine(isOfOther, {
  message: `is "${LOCAL_PRINCIPAL}", which is this machine's user. Choose another principal`,
  path: ['principal'],
});

export const RuleSchema = z.object({ ruleId: z.string(), covers: z.string(), rememberedAt: z.number() });

export const ProviderSchema = z.object({
  provider: z.string(),
  name: z.string(),
  /** The source of the key. `stored`: the server has stored it. */
  key: z.enum(['none', 'stored', 'environment']),
});

/** A saved prompt or script, without its text. */
export const SavedSchema = z.object({
  name: z.string(),
  scope: z.enum(['thread', 'principal', 'workspace']),
  version: z.number(),
  bytes: z.number(),
  createdAt: z.number(),
  description: z.string().optional(),
  /** The JSON Schema of the script's input, or of the prompt's variables. */
  input: z.record(z.string(), z.unknown()).optional(),
  /** The JSON Schema of the script's result. */
  output: z.record(z.string(), z.unknown()).optional(),
});

export function pageSchema<Item extends z.ZodType>(item: Item) {
  return z.object({ data: z.array(item), next: z.string().optional() });
}

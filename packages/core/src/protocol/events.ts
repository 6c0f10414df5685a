import { z } from 'zod';
import {
  OperationItemSchema,
  OutputItemSchema,
  ResponseStatusSchema,
  UsageSchema,
  type OutputItem,
  type Usage,
} from './items.js';
import { ApprovalRequestSchema } from './approvals.js';
import type { KnownMembers } from './known-members.js';
import { ToolEffectSchema } from './operations.js';
import { snakeCaseSchema } from './spelling.js';

/** A request for the approval of a call, in the form that events contain. */
export const ApprovalRequestEventSchema = snakeCaseSchema(ApprovalRequestSchema);

const itemType = z.enum([
  'message',
  'reasoning',
  'function_call',
  'function_call_output',
  'script_execution',
  'script_execution_output',
  'hosted_code',
  'hosted_code_output',
  'plan',
  'compaction',
  'error',
]);

/** The payload of an event. `item_id` names the item that the event concerns, and `script_id` names the script. */
export const EventPayloadSchema = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('response_start'),
    /** The input items of an agent's run. */
    input: z.array(OutputItemSchema).readonly().optional(),
    /** The wire format of a provider's answer, and the provider's names for the answer and the model. */
    api: z.string().optional(),
    response_id: z.string().optional(),
    model: z.string().optional(),
  }),
  z.looseObject({
    type: z.literal('item_start'),
    item_id: z.string(),
    item_type: itemType,
    initial: z.record(z.string(), z.unknown()).optional(),
  }),
  /** Text to append to the item: content, arguments, or a script's source. */
  z.looseObject({ type: z.literal('item_delta'), item_id: z.string(), delta: z.string() }),
  z.looseObject({ type: z.literal('item_done'), item_id: z.string(), final_item: OutputItemSchema }),
  z.looseObject({ type: z.literal('item_error'), item_id: z.string(), code: z.string(), message: z.string() }),
  z.looseObject({ type: z.literal('item_cancelled'), item_id: z.string(), reason: z.string().optional() }),
  /** Changes to members of an item that is already finished. */
  z.looseObject({ type: z.literal('item_update'), item_id: z.string(), changes: z.record(z.string(), z.unknown()) }),
  z.looseObject({
    type: z.literal('tool_call_start'),
    call_id: z.string(),
    script_id: z.string().optional(),
    tool: z.string(),
    input: z.unknown(),
    effect: ToolEffectSchema,
    line: z.number().optional(),
  }),
  z.looseObject({
    type: z.literal('tool_call_done'),
    call_id: z.string(),
    script_id: z.string().optional(),
    operation: OperationItemSchema,
  }),
  z.looseObject({ type: z.literal('approval_requested'), approval: ApprovalRequestEventSchema }),
  z.looseObject({
    type: z.literal('approval_resolved'),
    approval_id: z.string(),
    call_id: z.string(),
    script_id: z.string().optional(),
    decision: z.enum(['approve', 'deny', 'timeout', 'cancelled']),
    by: z.enum(['person', 'rule', 'policy', 'clock', 'host']),
    note: z.string().optional(),
    /** 'workspace': the decision applies beyond this script; the host that stores it defines the scope. */
    remember: z.enum(['script', 'plan', 'workspace']).optional(),
    /** The arguments that the call runs with, if the user replaced the script's arguments. */
    edited_input_json: z.string().optional(),
  }),
  z.looseObject({
    type: z.literal('script_progress'),
    script_id: z.string(),
    message: z.string(),
    kind: z.enum(['info', 'warn']),
    call_id: z.string().optional(),
  }),
  z.looseObject({
    type: z.literal('script_log'),
    script_id: z.string(),
    level: z.enum(['log', 'info', 'warn', 'error', 'debug']),
    text: z.string(),
    at_ms: z.number(),
  }),
  z.looseObject({ type: z.literal('usage_update'), usage: UsageSchema }),
  /** A request of a run to its model has ended. */
  z.looseObject({
    type: z.literal('request_done'),
    /** The tokens of this request alone. */
    usage: UsageSchema.optional(),
    /** The cost in US dollars, if the agent has prices. The cost is an estimate if `usage` is one. */
    cost: z.number().optional(),
    request_id: z.string().optional(),
    /** The provider's limits, and the remaining amount of each. */
    rate_limits: z
      .array(
        z.looseObject({
          name: z.string(),
          limit: z.number().optional(),
          remaining: z.number().optional(),
          reset: z.string().optional(),
        }),
      )
      .optional(),
  }),
  /** A request to the model failed and is sent again after `delay_ms`. */
  z.looseObject({
    type: z.literal('request_retry'),
    /** The error code of the failure. */
    code: z.string(),
    message: z.string(),
    /** The HTTP status, if there was a response. */
    status: z.number().optional(),
    /** The number of attempts so far. */
    attempts: z.number().int().min(1),
    delay_ms: z.number().min(0),
    /** The model that gets the request in place of the one that failed. */
    model: z.string().optional(),
  }),
  /** The service continues this answer even if its reader is gone, so that a later process can read it. */
  z.looseObject({
    type: z.literal('background_answer'),
    answer_id: z.string(),
    /** The service's own id of the answer. */
    response_id: z.string(),
    /** The model that answers. */
    model: z.string(),
  }),
  /** A sub-agent starts. Its run is part of this run, and its events follow as `agent_event`. */
  z.looseObject({
    type: z.literal('agent_start'),
    agent_run_id: z.string(),
    /** The call that launched the sub-agent, and the script of that call. */
    call_id: z.string(),
    script_id: z.string().optional(),
    /** The call's idempotency key: a repeated call finds the sub-agent that the first call launched. */
    key: z.string(),
    agent: z.string(),
    task: z.string(),
    /** The keys of the stored files that the sub-agent reads before its task. */
    file_keys: z.array(z.string()).readonly().optional(),
    /** The SHA-256 of the texts of these files at the launch. */
    files_sha256: z.string().optional(),
    /** True: the task or the files may contain text of unknown authors. */
    untrusted: z.boolean().optional(),
    tools: z.array(z.string()).readonly(),
    /** The nesting depth: 1 for a sub-agent of the run itself. */
    depth: z.number().int().min(1),
    /** True if the sub-agent outlives the script that launched it. */
    detached: z.boolean(),
    /** The budget that is reserved for the sub-agent. A figure that the launching run does not limit may be absent. */
    budget: z.looseObject({
      tokens: z.number().optional(),
      cost: z.number().optional(),
      calls: z.number().optional(),
      /** The deadline of the sub-agent's run, in ms since 1970. */
      ends_at: z.number().optional(),
    }),
    /** The JSON Schema of the sub-agent's answer. */
    schema: z.record(z.string(), z.unknown()).optional(),
  }),
  /** An event of a sub-agent. `event` is a payload of this union; `seq` counts the sub-agent's own events. */
  z.looseObject({
    type: z.literal('agent_event'),
    agent_run_id: z.string(),
    seq: z.number().int().min(0),
    /** The time of the sub-agent's event, in ms since 1970. */
    timestamp: z.number(),
    event: z.looseObject({ type: z.string() }),
  }),
  z.looseObject({
    type: z.literal('response_done'),
    status: ResponseStatusSchema,
    usage: UsageSchema.optional(),
    /** The id with which a suspended script is resumed. Events never contain the script's sealed memory. */
    script_id: z.string().optional(),
    /**
     * True if the approvals belong to sub-agents of the script; the script is then interrupted instead of suspended.
     */
    in_sub_agents: z.boolean().optional(),
    /** The approvals that the suspended script waits for. */
    approval_ids: z.array(z.string()).optional(),
    /** Present if the status is `incomplete`. */
    incomplete_reason: z.string().optional(),
    /** The value of the final answer, for a run with an `outputSchema`, or which ended with the value of a script. */
    output: z.unknown().optional(),
    /** The reason why the answer ended, in the provider's own words. */
    stop_reason: z.unknown().optional(),
  }),
  z.looseObject({ type: z.literal('response_error'), code: z.string(), message: z.string() }),
]);

/**
 * In this type, only items and usage may have further members, which come from a provider. All other members are named.
 */
export type EventPayload = KnownMembers<z.infer<typeof EventPayloadSchema>, OutputItem | Usage | undefined>;
export type EventType = EventPayload['type'];

/** The envelope of a payload. `seq` starts at 0 and has no gaps within a run. */
export const StreamEventSchema = z.object({
  event_id: z.string(),
  run_id: z.string(),
  thread_id: z.string(),
  turn_id: z.string(),
  seq: z.number().int().min(0),
  /** The time of the event, in ms since 1970. */
  timestamp: z.number(),
  trace: z.record(z.string(), z.unknown()).optional(),
  payload: EventPayloadSchema,
});

/**
 * One event of a run: its payload, with the ids of run, thread and turn. `seq` counts the events of a run from 0,
 * without gaps.
 */
export type StreamEvent = Omit<z.infer<typeof StreamEventSchema>, 'payload'> & { payload: EventPayload };

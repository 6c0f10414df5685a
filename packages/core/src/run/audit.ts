import type { FacadeEvent } from '../tools/index.js';
import type { ApprovalDecider, Operation, Remember, RunIdentity, ToolEffect } from '../protocol/index.js';
import { present } from '../protocol/json.js';

interface AuditCommon {
  /** The time, as ISO 8601 in UTC. */
  at: string;
  scriptId?: string;
  /** The run, the turn and the thread of the script or call. */
  runId?: string;
  turnId?: string;
  threadId?: string;
  principal?: string;
  callId: string;
}

/** One entry of an audit log: a decision, or the start or the end of a call with effects. */
export type AuditEntry = AuditCommon &
  (
    | {
        type: 'approval';
        approvalId: string;
        tool: string;
        decision: 'approve' | 'deny' | 'timeout' | 'cancelled';
        by: ApprovalDecider;
        note?: string;
        remember?: Remember;
        /** The script's arguments, if a user replaced them. */
        replacedInputJson?: string;
        /** The arguments that the decision is about. An approved call runs with these arguments. */
        inputJson: string;
      }
    | { type: 'call_started'; tool: string; effect: ToolEffect; input: unknown }
    | {
        type: 'call_ended';
        tool: string;
        effect: ToolEffect;
        status: Operation['status'];
        durationMs: number;
        error?: { code: string; message: string };
      }
  );

/**
 * Called synchronously for each entry, in order. The function should append the entry and return. Errors that it throws
 * do not affect the run.
 */
export type AuditLog = (entry: AuditEntry) => void;

/** The owner of a script or call, for its entries. */
interface EventOwner {
  scriptId: string | undefined;
  principal: string | undefined;
  identity: RunIdentity | undefined;
}

/** Creates audit entries from a facade's events. */
export class Audit {
  readonly #log: AuditLog;
  readonly #onFailure: (detail: string) => void;

  constructor(log: AuditLog, onFailure: (detail: string) => void) {
    this.#log = log;
    this.#onFailure = onFailure;
  }

  note(event: FacadeEvent, { scriptId, principal, identity }: EventOwner): void {
    const entry = entryOf(event);
    if (entry === undefined) return;
    const at = new Date().toISOString();
    try {
      this.#log({ at, ...present({ scriptId, ...identity, principal }), ...entry } as AuditEntry);
    } catch (error) {
      this.#onFailure(
        `The audit log failed, so an entry may be missing: ${String(error)}. Check the option audit of createHarness.`,
      );
    }
  }
}

type Unsigned = AuditEntry extends infer Entry ? (Entry extends AuditEntry ? Omit<Entry, 'at'> : never) : never;

function entryOf(event: FacadeEvent): Unsigned | undefined {
  switch (event.type) {
    case 'approval_resolved': {
      const { type: _type, ...decision } = event;
      return { ...decision, type: 'approval' };
    }
    case 'tool_call_start': {
      const { callId, tool, effect, input } = event;
      return effect === 'read' ? undefined : { type: 'call_started', callId, tool, effect, input };
    }
    case 'tool_call_done': {
      const { callId, tool, effect, status, durationMs, error } = event.operation;
      if (effect === 'read') return undefined;
      const failed = error === undefined ? {} : { error };
      return { type: 'call_ended', callId, tool, effect, status, durationMs, ...failed };
    }
    default:
      return undefined;
  }
}

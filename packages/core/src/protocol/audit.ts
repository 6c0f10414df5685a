import type { ApprovalDecider } from './approval-gate.js';
import type { Remember } from './approvals.js';
import type { Operation } from './operations.js';
import type { Provenance } from './provenance.js';
import type { ToolEffect } from './tools.js';

/** The owner and the time of an entry. */
interface AuditStamp {
  /** The time, as ISO 8601 in UTC. */
  at: string;
  scriptId?: string | undefined;
  /** The run, the turn and the thread of the script or call. */
  runId?: string | undefined;
  turnId?: string | undefined;
  threadId?: string | undefined;
  principal?: string | undefined;
}

/** A fact about a call: a decision, or the start or the end of a call with effects. */
export type AuditFact = { callId: string; tool: string } & (
  | {
      type: 'approval';
      approvalId: string;
      decision: 'approve' | 'deny' | 'timeout' | 'cancelled';
      by: ApprovalDecider;
      note?: string | undefined;
      remember?: Remember | undefined;
      /** The script's arguments, if a user replaced them. */
      replacedInputJson?: string | undefined;
      /** The arguments that the decision is about. An approved call runs with these arguments. */
      inputJson: string;
      /** Where the arguments came from, if a rule is about it. */
      provenance?: Provenance | undefined;
    }
  | { type: 'call_started'; effect: ToolEffect; input: unknown }
  | {
      type: 'call_ended';
      effect: ToolEffect;
      status: Operation['status'];
      durationMs: number;
      error?: { code: string; message: string } | undefined;
    }
);

/** One entry of an audit log. */
export type AuditEntry = AuditStamp & AuditFact;

/**
 * Called synchronously for each entry, in order. The function should append the entry and return. Errors that it throws
 * do not affect the run.
 *
 * @example
 *
 * ```ts
 * const audit: AuditLog = (entry) => appendFileSync('audit.jsonl', `${JSON.stringify(entry)}\n`);
 * const harness = createHarness({ tools: [getWeather], audit });
 * ```
 */
export type AuditLog = (entry: AuditEntry) => void;

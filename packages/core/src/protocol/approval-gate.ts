import type { ApprovalChange, ApprovalRequest, Remember } from './approvals.js';
import type { JsonValue } from './json.js';
import type { RunContext } from './run-context.js';
import type { PlannedCall } from './script.js';
import type { FlowFinding, Provenance } from './provenance.js';
import type { Tool } from './tools.js';

/**
 * The port through which the facade asks whether a call may run. `approvals/` implements it. One gate serves one
 * script or one structured call.
 */
export interface ApprovalGate {
  /**
   * Decides about a call. Returns undefined, directly or in a promise, if no decision is needed. The promise never
   * rejects and may stay pending until `signal` aborts.
   */
  decide(call: GateCall): Promise<GateDecision | undefined> | undefined;
  /**
   * Redeems an approval for exactly one call with exactly these arguments. Returns false if the approval was given for
   * another call or other arguments, or was redeemed before; the call must not run in that case.
   */
  redeem(approvalId: string, callId: string, inputJson: string): boolean;
  /**
   * Compares a call that a user approved with the approved request, immediately before the call is executed. Returns
   * the parts that have changed. Never rejects.
   */
  changesSince(approved: ApprovalRequest, call: GateCall): Promise<readonly ApprovalChange[]>;
  /**
   * Returns the current policy's denial of a call that was allowed in an earlier process; undefined if the policy
   * allows the call.
   */
  forbids(call: GateCall): GateDecision | undefined;
  /** Whether nobody has decided this request while the script was suspended, and a decision is still possible. */
  isOpen(request: ApprovalRequest): boolean;
  /** Like `decide`, for a call that waited for a decision about this request when its script was suspended. */
  recheck(call: GateCall, request: ApprovalRequest): Promise<GateDecision>;
  /** Returns the decisions that apply to later calls. A new gate can be created with these decisions. */
  memory(): GateMemory;
}

/** A user's decisions that cover several calls. Plain data. */
export interface GateMemory {
  /** `tool`: the digest of the tool's definition. */
  readonly tools: readonly (readonly [tool: string, decision: 'approve' | 'deny'])[];
  /** Applies to every call that the plan lists with its arguments. */
  readonly plan?: 'approve' | 'deny' | undefined;
}

export interface GateCall {
  readonly tool: Tool;
  readonly callId: string;
  readonly scriptId: string | undefined;
  readonly context: RunContext;
  /** The parsed `inputJson`, deep-frozen. */
  readonly input: JsonValue;
  readonly inputJson: string;
  readonly line?: number | undefined;
  readonly snippet?: string | undefined;
  readonly plan: readonly PlannedCall[];
  /** The parts that changed after a user approved the call, if the call is asked about again. */
  readonly changed?: readonly ApprovalChange[] | undefined;
  /** The sources of the arguments. Undefined if neither the tool nor the host has a rule about them. */
  readonly flow?: FlowFinding | undefined;
  /** Aborts when the decision is no longer needed; later answers are ignored. */
  readonly signal: AbortSignal;
  /** Called at most once: immediately before a user is asked. */
  readonly onRequest: (request: ApprovalRequest) => void;
  /** Called if no user decides now: the decision arrives when the script is resumed. */
  readonly onParked: () => void;
}

export type ApprovalDecider = 'person' | 'rule' | 'policy' | 'clock' | 'host';

export interface DecisionCommon {
  readonly approvalId: string;
  readonly by: ApprovalDecider;
  readonly note?: string | undefined;
  readonly remember?: Remember | undefined;
  readonly provenance?: Provenance | undefined;
}

export type GateDecision = DecisionCommon &
  (
    | {
        readonly decision: 'approve';
        /**
         * The approved arguments as JSON text: the call's own or the edited ones. The call must run with exactly this
         * text.
         */
        readonly inputJson: string;
        /** The request that a user approved. Undefined: the decision is not about this call alone. */
        readonly approved?: ApprovalRequest | undefined;
      }
    | {
        readonly decision: 'deny' | 'timeout' | 'cancelled';
        /** One sentence for the model. */
        readonly reason: string;
      }
  );

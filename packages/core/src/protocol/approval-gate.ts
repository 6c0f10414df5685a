import type { ApprovalRequest, Remember } from './approvals.js';
import type { JsonValue } from './json.js';
import type { PlannedCall } from './script.js';
import type { Tool } from './tools.js';

/**
 * The port through which the facade asks whether a call may run. `approvals/` implements it; one gate
 * serves one script, or one structured call.
 */
export interface ApprovalGate {
  /** Undefined, now or later, where nothing has to be decided. Never rejects; may stay open until `signal` aborts. */
  decide(call: GateCall): Promise<GateDecision | undefined> | undefined;
  /**
   * Takes an approval for exactly one call with exactly this text. False where it was given for another
   * call or text, or was taken before; then nothing may run.
   */
  redeem(approvalId: string, callId: string, inputJson: string): boolean;
  /** What the policy of now says against a call that was let through before, in an earlier process. */
  forbids(call: GateCall): GateDecision | undefined;
  /** Whether nobody has decided about this request while the script was suspended, and somebody still may. */
  isOpen(request: ApprovalRequest): boolean;
  /** As `decide`, for a call that waited for this request when its script was suspended. */
  recheck(call: GateCall, request: ApprovalRequest): Promise<GateDecision>;
  /** What holds for further calls; a gate made with it goes on where this one is. */
  memory(): GateMemory;
}

/** What a person said once for several calls. Plain data. */
export interface GateMemory {
  readonly tools: readonly (readonly [tool: string, decision: 'approve' | 'deny'])[];
  /** For every call that the plan lists with its arguments. */
  readonly plan?: 'approve' | 'deny';
}

export interface GateCall {
  readonly tool: Tool;
  readonly callId: string;
  readonly scriptId: string | undefined;
  readonly principal: string | undefined;
  readonly app: unknown;
  /** Deep-frozen; the data of `inputJson`. */
  readonly input: JsonValue;
  readonly inputJson: string;
  readonly line?: number | undefined;
  readonly snippet?: string | undefined;
  readonly plan: readonly PlannedCall[];
  /** Aborted when nobody needs the decision any more; later answers count for nothing. */
  readonly signal: AbortSignal;
  /** Called once when a person is about to be asked, before they are. */
  readonly onRequest: (request: ApprovalRequest) => void;
  /** Called where nobody is being asked, or any more: the decision comes when the script is resumed. */
  readonly onParked: () => void;
}

export type ApprovalDecider = 'person' | 'rule' | 'policy' | 'clock' | 'host';

export interface DecisionCommon {
  readonly approvalId: string;
  readonly by: ApprovalDecider;
  readonly note?: string;
  readonly remember?: Remember;
}

export type GateDecision = DecisionCommon &
  (
    | {
        readonly decision: 'approve';
        /** What was approved and must run: the call's own text, or the edited one. */
        readonly inputJson: string;
      }
    | {
        readonly decision: 'deny' | 'timeout' | 'cancelled';
        /** One sentence for the model. */
        readonly reason: string;
      }
  );

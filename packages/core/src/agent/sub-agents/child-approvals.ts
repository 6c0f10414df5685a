import {
  ToolCallError,
  type ApprovalCallback,
  type ApprovalPolicy,
  type ApprovalRequest,
} from '../../protocol/index.js';

/**
 * The approvals of a sub-agent whose run cannot wait for a later decision. The policy of the parent decides, and may
 * ask the parent's users. If nobody decides at once, the call is denied.
 */
export function decidedNow(policy: ApprovalPolicy | undefined): ApprovalPolicy {
  if (policy === undefined) return now(undefined);
  if (policy === 'auto' || policy === 'deny') return policy;
  if (typeof policy === 'function') return now(policy);
  return 'rules' in policy ? { rules: policy.rules, ask: now(policy.ask) } : { rules: policy, ask: now(undefined) };
}

function now(ask: ApprovalCallback | undefined): ApprovalCallback {
  return async (request: ApprovalRequest) => {
    const answer = await ask?.(request);
    if (answer !== undefined && answer !== 'suspend') return answer;
    // defence: calls-of-sub-agents-are-decided
    throw new ToolCallError(
      'ApprovalDeniedError',
      `Nobody can decide now about a call of the sub-agent ${(request.agents ?? []).join(' > ')}, and the call cannot wait for a later decision. Make the call without a sub-agent. The host can also allow ${request.tool} with a rule.`,
    );
  };
}

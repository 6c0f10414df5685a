import {
  ToolCallError,
  type ApprovalCallback,
  type ApprovalPolicy,
  type ApprovalRequest,
} from '../../protocol/index.js';

/**
 * The approvals of a sub-agent: the policy of its parent, asked where its parent asks, with the path of agents. A
 * sub-agent does not wait for a later decision: where nobody decides now, its call is denied.
 */
export function childApprovals(policy: ApprovalPolicy | undefined, agent: string): ApprovalPolicy {
  const ask = (callback: ApprovalCallback | undefined) => askedFor(agent, callback);
  if (policy === undefined) return ask(undefined);
  if (policy === 'auto' || policy === 'deny') return policy;
  if (typeof policy === 'function') return ask(policy);
  return 'rules' in policy ? { rules: policy.rules, ask: ask(policy.ask) } : { rules: policy, ask: ask(undefined) };
}

function askedFor(agent: string, ask: ApprovalCallback | undefined): ApprovalCallback {
  return async (request: ApprovalRequest) => {
    // defence: calls-of-sub-agents-are-asked
    const answer = await ask?.({ ...request, agents: [agent, ...(request.agents ?? [])] });
    if (answer !== undefined && answer !== 'suspend') return answer;
    throw new ToolCallError(
      'ApprovalDeniedError',
      `Nobody can decide now about a call of the sub-agent ${[agent, ...(request.agents ?? [])].join(' > ')}, and a sub-agent does not wait for a later decision. Make the call in the run itself, or allow ${request.tool} with a rule.`,
    );
  };
}

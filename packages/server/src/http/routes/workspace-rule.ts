import { present } from '@toolscript/core/internal';
import type { Approval, StoredDecision } from '@toolscript/core/protocol';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { hasScope, type Caller, type SuggestedRule } from '../../access/index.js';
import { ProblemError } from '../problems.js';
import type { Service } from '../service.js';
import { ApprovalParameters, ownApproval, approvalTool } from './own-approval.js';

/** The route that shows the rule that a decision for the workspace would store. */
export function workspaceRuleRoute(instance: FastifyInstance, service: Service): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.route({
    method: 'GET',
    url: '/api/v2/approvals/:approvalId/rule',
    config: { scope: 'read' },
    schema: {
      operationId: 'suggestRule',
      description:
        'Shows the rule that "remember": "workspace" would store. The response has no "covers" if no rule is possible.',
      params: ApprovalParameters,
      response: { 200: z.object({ covers: z.string().optional() }) },
    },
    handler: async (request) => {
      const approval = await ownApproval(service, request);
      const rule = hasScope(request.caller, 'admin') ? await ruleFor(service, approval) : undefined;
      return present({ covers: rule?.covers });
    },
  });
}

/**
 * The rule that a decision for the workspace stores; undefined for any other decision. Throws a problem if the caller
 * or the decision cannot store a rule.
 */
export async function decisionRule(
  service: Service,
  approval: Approval,
  decision: StoredDecision,
  caller: Caller,
): Promise<SuggestedRule | undefined> {
  if (typeof decision === 'string' || decision.remember !== 'workspace') return undefined;
  // defence: workspace-rules-of-administrators
  if (!hasScope(caller, 'admin'))
    throw new ProblemError(
      403,
      'A rule for the workspace applies to all its users. It needs the scope "admin". Use a key with that scope, or omit "remember".',
    );
  if (decision.decision !== 'approve' || decision.input !== undefined)
    throw new ProblemError(
      400,
      'A rule for the workspace needs an approval with unchanged arguments. Approve the call, and omit "input".',
    );
  const rule = await ruleFor(service, approval);
  if (rule !== undefined) return rule;
  throw new ProblemError(
    400,
    'No rule of the workspace can allow this call. Send "remember": "script" or "plan", or omit "remember".',
  );
}

async function ruleFor(service: Service, approval: Approval): Promise<SuggestedRule | undefined> {
  const tool = service.rules === undefined ? undefined : await approvalTool(service, approval);
  return tool && service.rules?.suggest(tool, approval.request);
}

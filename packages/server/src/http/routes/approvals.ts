import { present } from '@toolscript/core/internal';
import { type Approval, type StoredDecision, APPROVAL_STATES } from '@toolscript/core/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { notFoundProblem, ProblemError } from '../problems.js';
import { ApprovalSchema, DecideBodySchema, IdSchema, ListQuerySchema, pageSchema } from '../schemas.js';
import type { Service } from '../service.js';
import { approvalView } from '../views.js';
import { ApprovalParameters, ownApproval, approvalTool } from './own-approval.js';
import { decisionRule } from './workspace-rule.js';

/** Routes that list, show and decide approvals. */
export function approvalRoutes(instance: FastifyInstance, service: Service): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  const { threads } = service.stores;

  app.route({
    method: 'GET',
    url: '/api/v2/approvals',
    config: { scope: 'read' },
    schema: {
      operationId: 'listApprovals',
      description: 'Lists approvals, oldest first: the pending ones, or those with the given state.',
      querystring: ListQuerySchema.extend({
        state: z.enum([...APPROVAL_STATES, 'all']).default('pending'),
        threadId: IdSchema.optional(),
        runId: IdSchema.optional(),
      }),
      response: { 200: pageSchema(ApprovalSchema) },
    },
    handler: async ({ caller, query: { state, ...query } }) => {
      const ofState = state === 'all' ? {} : { state };
      const page = await threads.listApprovals({ principal: caller.principal, ...ofState, ...present(query) });
      return { data: page.approvals.map(approvalView), next: page.next };
    },
  });

  app.route({
    method: 'GET',
    url: '/api/v2/approvals/:approvalId',
    config: { scope: 'read' },
    schema: {
      operationId: 'getApproval',
      description: 'Shows an approval: the exact call that waits, or the decision about the call.',
      params: ApprovalParameters,
      response: { 200: ApprovalSchema },
    },
    handler: async (request) => approvalView(await ownApproval(service, request)),
  });

  app.route({
    method: 'POST',
    url: '/api/v2/approvals/:approvalId',
    config: { scope: 'approve', audit: 'decision' },
    schema: {
      operationId: 'decideApproval',
      description: 'Decides an approval. The first decision wins; a later decision gets 409 with the first decision.',
      params: ApprovalParameters,
      body: DecideBodySchema,
      response: { 200: ApprovalSchema },
    },
    handler: async (request) => {
      const approval = await ownApproval(service, request);
      const decision = request.body as StoredDecision;
      if (approval.state === 'pending') await checkInput(service, approval, decision);
      const rule = await decisionRule(service, approval, decision, request.caller);
      const decided = await decide(service, approval, decision, request);
      await rule?.add();
      return approvalView(decided);
    },
  });
}

async function decide(
  service: Service,
  { approvalId }: Approval,
  decision: StoredDecision,
  request: FastifyRequest,
): Promise<Approval> {
  const decided = await service.stores.threads.decide(approvalId, decision, request.caller.principal);
  if (decided === undefined) throw notFoundProblem('approval', approvalId);
  const { approval, isWinner } = decided;
  if (!isWinner)
    throw new ProblemError(
      409,
      `The approval ${approvalId} is already ${approval.state}, so it takes no other decision. Load the approval again.`,
      {
        approval: approvalView(approval),
      },
    );
  service.requestAudit.note(request, decisionFacts(approval));
  return approval;
}

function decisionFacts({ approvalId, runId, threadId, request, decision = 'deny' }: Approval) {
  const { decision: verdict, input, note, remember } = typeof decision === 'string' ? { decision } : decision;
  const { callId, scriptId, tool, inputJson } = request;
  const call = { threadId, runId, scriptId, callId, approvalId, tool, inputJson };
  return { ...call, decision: verdict, note, remember, replacingInput: input };
}

/** Rejects replacement arguments that do not fit the tool, before the decision takes effect. */
async function checkInput(service: Service, approval: Approval, decision: StoredDecision): Promise<void> {
  if (typeof decision === 'string' || decision.input === undefined) return;
  if (decision.decision === 'deny') throw new ProblemError(400, 'A denied call takes no input. Omit "input".');
  const checked = (await approvalTool(service, approval))?.validateInput(decision.input);
  if (checked === undefined || checked.ok) return;
  const errors = checked.issues.map(({ path, message }) => ({ pointer: pointerTo(path), detail: message }));
  throw new ProblemError(
    400,
    `The input does not fit ${approval.request.tool}: ${errors[0]?.detail}. Correct "input".`,
    { errors },
  );
}

/** Converts a validation path such as `args.list[0].name` to a JSON pointer into the body of the request. */
function pointerTo(path: string): string {
  const members = path.replace(/^args\b/u, '').match(/[^.[\]]+/gu) ?? [];
  return ['/input', ...members].join('/');
}

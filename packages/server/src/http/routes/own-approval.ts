import type { Approval, Tool } from '@toolscript/core/protocol';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { notFoundProblem } from '../problems.js';
import { IdSchema } from '../schemas.js';
import type { Service } from '../service.js';

export const ApprovalParameters = z.object({ approvalId: IdSchema });

/** The approval that the path names. Throws a problem with status 404 unless the approval belongs to the caller. */
export async function ownApproval({ stores }: Service, request: FastifyRequest): Promise<Approval> {
  const { approvalId } = request.params as { approvalId: string };
  const { principal } = request.caller;
  // defence: approval-of-the-caller
  const approval = await stores.threads.approval(approvalId, { principal });
  if (approval === undefined) throw notFoundProblem('approval', approvalId);
  return approval;
}

/** The tool of the pending call; undefined if the run's agent no longer has the tool. */
export async function approvalTool(
  { stores, agents }: Service,
  { runId, request }: Approval,
): Promise<Tool | undefined> {
  const run = await stores.runs.get(runId);
  const { agentId } = (run?.options ?? {}) as { agentId?: string | undefined };
  const served = await agents.find(agentId);
  const tools = (await served?.open({}))?.harness.tools() ?? [];
  return tools.find(({ name }) => name === request.tool);
}

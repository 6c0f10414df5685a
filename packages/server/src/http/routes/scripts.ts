import type { Harness } from '@toolscript/core';
import type { ApprovalPage } from '@toolscript/core/ports';
import type { Approval, Outcome } from '@toolscript/core/protocol';
import { allPageItems, scriptPrincipal } from '@toolscript/service';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { notFoundProblem, ProblemError } from '../problems.js';
import { IdSchema, OutcomeSchema } from '../schemas.js';
import type { Service } from '../service.js';

/** Maximum time that a request waits for the end of a script, in ms. */
const MAX_WAIT_MS = 30_000;

const ScriptParameters = z.object({ scriptId: IdSchema });

/** Routes that wait for scripts and cancel them. */
export function scriptRoutes(instance: FastifyInstance, service: Service): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.route({
    method: 'GET',
    url: '/api/v2/scripts/:scriptId',
    config: { scope: 'read' },
    schema: {
      operationId: 'getScript',
      description:
        'Shows the outcome of a script. "waitMs" is the maximum time to wait for the end of a script that runs. If it runs longer, the status is "running".',
      params: ScriptParameters,
      querystring: z.object({ waitMs: z.coerce.number().int().min(0).max(MAX_WAIT_MS).default(0) }),
      response: { 200: OutcomeSchema },
    },
    handler: async ({ caller, params: { scriptId }, query: { waitMs } }, reply) => {
      // defence: script-waits-are-registered
      const signal = service.streams.addResponse(caller, reply);
      const principal = scriptPrincipal(caller.principal);
      const harness = await anyHarness(service);
      return outcomeView(await harness.waitScript(scriptId, { principal, forMs: waitMs, signal }));
    },
  });

  app.route({
    method: 'POST',
    url: '/api/v2/scripts/:scriptId/cancel',
    config: { scope: 'run', audit: 'script_cancelled' },
    schema: {
      operationId: 'cancelScript',
      description:
        'Cancels a script, and answers its end. A script that has ended stays unchanged. Approvals for which a cancelled script waited are denied, and its run continues.',
      params: ScriptParameters,
      response: { 200: OutcomeSchema },
    },
    handler: async ({ caller, params: { scriptId } }) => {
      const principal = scriptPrincipal(caller.principal);
      const harness = await anyHarness(service);
      const outcome = await harness.cancelScript(scriptId, { principal });
      if (outcome.error?.code === 'ScriptCancelledError') await denyWaiting(service, scriptId, caller.principal);
      return outcomeView(outcome);
    },
  });
}

/** Denies the approvals for which a cancelled script has waited, so that its run continues. */
async function denyWaiting({ stores: { threads } }: Service, scriptId: string, principal: string): Promise<void> {
  const pending = await allPageItems<ApprovalPage, Approval>(
    (page) => threads.listApprovals({ principal, state: 'pending', ...page }),
    ({ approvals }) => approvals,
  );
  for (const { approvalId, request } of pending)
    if (request.scriptId === scriptId)
      await threads.decide(approvalId, { decision: 'deny', note: 'The script was cancelled.' }, principal);
}

/** Any agent's harness: the agents share the store of scripts. */
async function anyHarness({ agents }: Service): Promise<Harness> {
  const served = (await agents.list()).find(({ problem }) => problem === undefined);
  if (served === undefined)
    throw new ProblemError(
      503,
      'No agent of the server can work now, so the server cannot read scripts. GET /api/v2/agents shows the problem of each agent.',
    );
  return (await served.open({})).harness;
}

/** The outcome without the sealed memory of a suspended script. Throws a problem if the harness could not read the script. */
function outcomeView({ suspension: _suspension, ...outcome }: Outcome) {
  const { scriptId, error } = outcome;
  if (error?.code === 'ScriptNotFoundError') throw notFoundProblem('script', scriptId);
  if (error?.code === 'StoreError') throw new ProblemError(503, error.message);
  return outcome;
}

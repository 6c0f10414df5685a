import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { undoFacts, type ScriptUndo, type UndoReport } from '../../access/index.js';
import { scriptPrincipal } from '@toolscript/service';
import { notFoundProblem, ProblemError } from '../problems.js';
import { IdSchema, UndoReportSchema } from '../schemas.js';
import type { Service } from '../service.js';

const ScriptParameters = z.object({ scriptId: IdSchema });
const DirectionSchema = z.enum(['undo', 'redo']).default('undo');

/** Routes that undo the effects of a script. If `undo` is undefined, the server finds no script to undo. */
export function undoRoutes(instance: FastifyInstance, service: Service, undo: ScriptUndo | undefined): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.route({
    method: 'GET',
    url: '/api/v2/scripts/:scriptId/undo',
    config: { scope: 'read' },
    schema: {
      operationId: 'previewUndo',
      description: 'Shows what an undo of the script would change, and what it would not. Changes nothing.',
      params: ScriptParameters,
      querystring: z.object({ direction: DirectionSchema }),
      response: { 200: UndoReportSchema },
    },
    handler: async ({ caller: { principal }, params: { scriptId }, query: { direction } }) =>
      requireReport(
        scriptId,
        await undo?.preview({ scriptId, principal: scriptPrincipal(principal), direction, diff: true }),
      ),
  });

  app.route({
    method: 'POST',
    url: '/api/v2/scripts/:scriptId/undo',
    config: { scope: 'approve', audit: 'undo' },
    schema: {
      operationId: 'undoScript',
      description:
        'Undoes the file changes of a script, all or none, and then the calls that their tools can undo. If the server refuses the undo, the status is 409, and "undo" contains the reasons.',
      params: ScriptParameters,
      body: z.strictObject({ direction: DirectionSchema, planId: z.string().max(64).optional() }),
      response: { 200: UndoReportSchema },
    },
    handler: async (request) => {
      const { scriptId } = request.params;
      const { direction, planId } = request.body;
      const principal = scriptPrincipal(request.caller.principal);
      const asked = { scriptId, principal, direction, planId };
      const report = requireReport(scriptId, await undo?.undo(asked));
      if (report.refusal !== undefined) throw new ProblemError(409, report.refusal.message, { undo: report });
      service.requestAudit.note(request, undoFacts(report));
      return report;
    },
  });
}

function requireReport(scriptId: string, report: UndoReport | undefined): UndoReport {
  if (report === undefined) throw notFoundProblem('script', scriptId);
  return report;
}

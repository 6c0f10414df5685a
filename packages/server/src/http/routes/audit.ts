import { present } from '@toolscript/core/internal';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { hasScope, entryPrincipal, type AuditFilter, type Caller, type ServiceAuditEntry } from '../../access/index.js';
import { ProblemError } from '../problems.js';
import { AuditEntrySchema, IdSchema, ListQuerySchema, pageSchema } from '../schemas.js';
import type { Service } from '../service.js';
import { sendSlices } from '../text-slices.js';

const AuditQuerySchema = ListQuerySchema.extend({
  principal: z.string().min(1).max(256).optional(),
  threadId: IdSchema.optional(),
  runId: IdSchema.optional(),
  scriptId: IdSchema.optional(),
  format: z.enum(['json', 'jsonl']).default('json'),
});

/** The route that shows the audit log. */
export function auditRoute(instance: FastifyInstance, { audit, streams }: Service): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.route({
    method: 'GET',
    url: '/api/v2/audit',
    config: { scope: 'read', readsMuch: () => true },
    schema: {
      operationId: 'listAudit',
      description:
        'Lists calls with effects, and requests that changed something, each with its actor, newest first: yours, or with the scope "admin" those of all principals. A page may have fewer entries than "limit"; "next" is present if there may be more entries. "format=jsonl" returns all entries as a file, oldest first.',
      querystring: AuditQuerySchema,
      response: { 200: pageSchema(AuditEntrySchema) },
    },
    handler: async ({ caller, query: { format, limit, after, principal, ...ids } }, reply) => {
      const filter = { ...present(ids), ...whose(caller, principal) };
      if (format === 'jsonl') {
        streams.addResponse(caller, reply);
        return exportLines(reply, audit.export(filter));
      }
      const { entries, next } = await audit.list({ ...filter, ...present({ limit, after }) });
      return { data: entries.map(entryView), next };
    },
  });
}

/**
 * The filter for the principal whose entries the caller may read. An administrator who omits `asked` reads the entries
 * of all principals.
 */
function whose(caller: Caller, asked: string | undefined): AuditFilter {
  if (hasScope(caller, 'admin')) return present({ principal: asked });
  if (asked !== undefined && asked !== caller.principal)
    throw new ProblemError(403, 'The audit log of another principal needs the scope "admin". Omit "principal".');
  return { principal: caller.principal };
}

function entryView(entry: ServiceAuditEntry) {
  return { ...entry, principal: entryPrincipal(entry) };
}

function exportLines(reply: FastifyReply, entries: AsyncIterable<ServiceAuditEntry>): never {
  const lines = async function* () {
    for await (const entry of entries) yield `${JSON.stringify(entryView(entry))}\n`;
  };
  reply.header('content-disposition', 'attachment; filename="audit.jsonl"');
  return sendSlices(reply, lines(), 'application/jsonl; charset=utf-8');
}

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LOCAL_PRINCIPAL } from '@toolscript/service';
import type { AccessLimits } from '../access/index.js';
import { tooMany } from './rate-limits.js';

/** The delay that the server requests from a principal with too many large reads, in s. */
const RETRY_S = 1;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a request may read much: a whole thread, a search, the audit log. Default: no. */
    readsMuch?: ((request: FastifyRequest) => boolean) | undefined;
  }
}

/**
 * Limits the concurrent large reads of each principal, until the response is sent. The machine's own user is not
 * limited.
 */
export function limitLargeReads(app: FastifyInstance, { largeReadsPerPrincipal: limit }: AccessLimits): void {
  const counts = new Map<string, number>();
  const counted = new WeakSet<FastifyRequest>();
  app.addHook('preHandler', async (request) => {
    if (request.routeOptions.config.readsMuch?.(request) !== true) return;
    const { principal } = request.caller;
    const count = counts.get(principal) ?? 0;
    // defence: large-reads-of-a-principal
    if (count >= limit && principal !== LOCAL_PRINCIPAL)
      throw tooMany(
        `${limit} of your requests read threads, searches or the audit log at this moment, the maximum (limits.largeReadsPerPrincipal of the server).`,
        RETRY_S,
      );
    counts.set(principal, count + 1);
    counted.add(request);
  });
  app.addHook('onResponse', async (request) => {
    if (!counted.has(request)) return;
    const { principal } = request.caller;
    const left = counts.get(principal)! - 1;
    if (left === 0) counts.delete(principal);
    else counts.set(principal, left);
  });
}

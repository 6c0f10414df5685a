import type { FastifyInstance, FastifyRequest } from 'fastify';
import { present } from '@toolscript/core/internal';
import type { AuditStore, RequestEntry, RequestStamp } from '../access/index.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The type of the audit entry about a request that succeeds. Each route that changes something needs it. */
    audit?: RequestEntry['type'] | undefined;
  }
}

/** The facts of an entry, without its actor. Default of `principal`: the caller's. */
type Facts<Entry = RequestEntry> = Entry extends RequestEntry
  ? Partial<Omit<Entry, Exclude<keyof RequestStamp, 'principal'>>>
  : never;

/**
 * Writes who changed what to the audit log: one entry for each request that succeeds and whose route names a type, with
 * the ids in its path.
 */
export class RequestAudit {
  readonly #audit: Pick<AuditStore, 'append'>;
  readonly #written = new WeakSet<FastifyRequest>();

  constructor(audit: Pick<AuditStore, 'append'>) {
    this.#audit = audit;
  }

  /** Covers the routes that are registered after this call. */
  observe(app: FastifyInstance): void {
    app.addHook('onSend', async (request, reply) => {
      const isOpen = request.routeOptions.config.audit !== undefined && !this.#written.has(request);
      // defence: changes-have-an-actor
      if (isOpen && reply.statusCode < 400) this.note(request);
    });
  }

  /** Adds facts that the path does not have. The change has taken effect, so a failed write does not revert it. */
  note(request: FastifyRequest, facts: Facts = {}): void {
    try {
      this.append(request, facts);
    } catch (error) {
      request.log.error(
        { err: error, ...(request.params as object) },
        'a change took effect but could not be written to the audit log; check err, and the permissions and the disk space of the audit log',
      );
    }
  }

  /** Records a change before it takes effect. Throws if the log cannot be written. */
  append(request: FastifyRequest, facts: Facts): void {
    const { caller, ip, params, routeOptions } = request;
    const { principal, keyId } = caller;
    this.#written.add(request);
    this.#audit.append({
      type: routeOptions.config.audit,
      at: new Date().toISOString(),
      principal,
      actor: present({ principal, keyId, address: ip }),
      ...(params as object),
      ...present(facts),
    } as RequestEntry);
  }
}

import { finished, Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isActive, type AccessLimits, type ApiKeyStore, type Caller } from '../access/index.js';
import { tooMany } from './rate-limits.js';

/** Maximum time until the server ends the streams of a revoked or expired key, in ms. */
const KEY_CHECK_MS = 1_000;

/** The delay that the server requests from a client with too many streams, in s. */
const RETRY_S = 10;

/**
 * Everything that stays open: responses, with a maximum for each principal, and sessions, whose owner limits them. Each
 * ends when the key that has opened it expires or is revoked.
 */
export class OpenStreams {
  readonly #limit: number;
  readonly #keys: Pick<ApiKeyStore, 'get'> | undefined;
  readonly #callers = new Map<AbortController, Caller>();
  readonly #counts = new Map<string, number>();
  /** The sessions, by the function that ends each. */
  readonly #sessions = new Map<() => void, Caller>();
  /** Each request has its own caller. */
  readonly #registered = new WeakSet<Caller>();
  #checking: NodeJS.Timeout | undefined;

  constructor({ streamsPerPrincipal }: AccessLimits, keys: Pick<ApiKeyStore, 'get'> | undefined) {
    this.#limit = streamsPerPrincipal;
    this.#keys = keys;
  }

  /** The number of open responses. */
  get size(): number {
    return this.#callers.size;
  }

  /** Adds a stream. Throws a problem with status 429 if the principal has too many. `controller` ends the stream. */
  add(caller: Caller, controller: AbortController): void {
    const count = this.#counts.get(caller.principal) ?? 0;
    // defence: streams-of-a-principal
    if (count >= this.#limit)
      throw tooMany(`You have ${this.#limit} event streams open, the maximum. Close one of them.`, RETRY_S);
    this.#counts.set(caller.principal, count + 1);
    this.#callers.set(controller, caller);
    this.#registered.add(caller);
    this.#watchKeys();
  }

  delete(controller: AbortController): void {
    const principal = this.#callers.get(controller)?.principal;
    if (principal === undefined) return;
    this.#callers.delete(controller);
    const left = this.#counts.get(principal)! - 1;
    if (left === 0) this.#counts.delete(principal);
    else this.#counts.set(principal, left);
    this.#watchKeys();
  }

  /**
   * Adds the response to a request as a stream, until it ends or its connection closes; then the returned signal aborts.
   * The end of its key destroys the connection.
   */
  addResponse(caller: Caller, { raw }: FastifyReply): AbortSignal {
    const [controller, ended] = [new AbortController(), new AbortController()];
    this.add(caller, controller);
    controller.signal.addEventListener('abort', () => raw.destroy(), { once: true });
    // The connection may have closed before this call.
    finished(raw, () => {
      this.delete(controller);
      ended.abort();
    });
    return ended.signal;
  }

  /** Adds a session that `end` ends. Returns a function to call after its end. */
  addSession(caller: Caller, end: () => void): () => void {
    this.#sessions.set(end, caller);
    this.#watchKeys();
    return () => {
      this.#sessions.delete(end);
      this.#watchKeys();
    };
  }

  abortAll(): void {
    for (const controller of this.#callers.keys()) controller.abort();
  }

  /**
   * Fails each request whose response stays open although the request is not registered. Covers the routes that are
   * registered after this call. A public route has no caller, and its answers are files.
   */
  requireRegistration(app: FastifyInstance): void {
    app.addHook('onRequest', async (request, reply) => {
      const hijack = reply.hijack.bind(reply);
      reply.hijack = () => {
        this.#requireRegistered(request);
        return hijack();
      };
    });
    app.addHook('onSend', async (request, _reply, payload) => {
      if (isStream(payload)) this.#requireRegistered(request);
    });
  }

  #requireRegistered({ method, routeOptions: { url, config }, caller }: FastifyRequest): void {
    if (config.scope === 'public') return;
    // defence: open-responses-are-registered
    if (!this.#registered.has(caller))
      throw new Error(`${method} ${url} keeps its response open. Add the response to OpenStreams first.`);
  }

  #watchKeys(): void {
    if (this.#callers.size + this.#sessions.size > 0) {
      this.#checking ??= setInterval(() => void this.#endRevoked(), KEY_CHECK_MS).unref();
      return;
    }
    clearInterval(this.#checking);
    this.#checking = undefined;
  }

  async #endRevoked(): Promise<void> {
    const keyIds = new Set([...this.#callers.values(), ...this.#sessions.values()].flatMap(({ keyId }) => keyId ?? []));
    for (const keyId of keyIds) {
      if (await this.#isUsable(keyId)) continue;
      for (const [controller, caller] of this.#callers) if (caller.keyId === keyId) controller.abort();
      // defence: sessions-end-with-their-key
      for (const [end, caller] of this.#sessions) if (caller.keyId === keyId) end();
    }
  }

  /** Whether the key is valid. Returns true if the store of keys does not answer, so that no stream ends. */
  async #isUsable(keyId: string): Promise<boolean> {
    try {
      const key = await this.#keys?.get(keyId);
      return key !== undefined && isActive(key);
    } catch {
      return true;
    }
  }
}

function isStream(payload: unknown): boolean {
  return payload instanceof Readable || payload instanceof ReadableStream || payload instanceof Response;
}

import { isActive, type AccessLimits, type ApiKeyStore, type Caller } from '../access/index.js';
import { tooMany } from './rate-limits.js';

/** Maximum time until the server ends the streams of a revoked or expired key, in ms. */
const KEY_CHECK_MS = 1_000;

/** The delay that the server requests from a client with too many streams, in s. */
const RETRY_S = 10;

/**
 * The open event streams, with a maximum for each principal. The streams of a key end when the key expires or is
 * revoked.
 */
export class OpenStreams {
  readonly #limit: number;
  readonly #keys: Pick<ApiKeyStore, 'get'> | undefined;
  readonly #callers = new Map<AbortController, Caller>();
  readonly #counts = new Map<string, number>();
  #checking: NodeJS.Timeout | undefined;

  constructor({ streamsPerPrincipal }: AccessLimits, keys: Pick<ApiKeyStore, 'get'> | undefined) {
    this.#limit = streamsPerPrincipal;
    this.#keys = keys;
  }

  get size(): number {
    return this.#callers.size;
  }

  /** Adds a stream. Throws a problem with status 429 if the principal has too many. `controller` ends the stream. */
  add({ principal, ...caller }: Caller, controller: AbortController): void {
    const count = this.#counts.get(principal) ?? 0;
    // defence: streams-of-a-principal
    if (count >= this.#limit)
      throw tooMany(`You have ${this.#limit} event streams open, the maximum. Close one of them.`, RETRY_S);
    this.#counts.set(principal, count + 1);
    this.#callers.set(controller, { principal, ...caller });
    this.#checking ??= setInterval(() => void this.#endRevoked(), KEY_CHECK_MS).unref();
  }

  delete(controller: AbortController): void {
    const principal = this.#callers.get(controller)?.principal;
    if (principal === undefined) return;
    this.#callers.delete(controller);
    const left = this.#counts.get(principal)! - 1;
    if (left === 0) this.#counts.delete(principal);
    else this.#counts.set(principal, left);
    if (this.#callers.size > 0) return;
    clearInterval(this.#checking);
    this.#checking = undefined;
  }

  abortAll(): void {
    for (const controller of this.#callers.keys()) controller.abort();
  }

  async #endRevoked(): Promise<void> {
    const keyIds = new Set([...this.#callers.values()].flatMap(({ keyId }) => keyId ?? []));
    for (const keyId of keyIds) {
      if (await this.#isUsable(keyId)) continue;
      for (const [controller, caller] of this.#callers) if (caller.keyId === keyId) controller.abort();
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

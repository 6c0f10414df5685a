/** Maximum number of threads and runs whose principal is remembered. */
const MAX_KNOWN = 10_000;

type Members = Readonly<Record<string, unknown>>;

/**
 * The principals of calls, by which they take turns. A call names a principal, or a thread or a run whose principal an
 * earlier answer has named. Anything else is a call without a principal.
 */
export class CallOwners {
  readonly #known = new Map<string, string>();

  /** Remembers the principal of the thread or of the run that a call has returned. */
  learn(value: unknown): void {
    const { run = value } = objectMembers(value);
    const { runId, threadId, principal } = objectMembers(run);
    if (typeof principal !== 'string') return;
    for (const id of [runId, threadId]) if (typeof id === 'string') this.#remember(id, principal);
  }

  /** The principal of a call with these parameters; undefined if none is known. */
  owner(parameters: readonly unknown[]): string | undefined {
    for (const parameter of parameters) {
      const found =
        typeof parameter === 'string' ? this.#known.get(parameter) : this.#ownerOf(objectMembers(parameter));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #ownerOf({ principal, runId, threadId, scope, filters }: Members): string | undefined {
    if (typeof principal === 'string') return principal;
    const encoded = objectMembers(filters).principal;
    if (typeof encoded === 'string') return JSON.parse(encoded) as string;
    for (const id of [runId, threadId, objectMembers(scope).id]) {
      const found = typeof id === 'string' ? this.#known.get(id) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #remember(id: string, principal: string): void {
    this.#known.delete(id);
    this.#known.set(id, principal);
    if (this.#known.size > MAX_KNOWN) this.#known.delete(this.#known.keys().next().value!);
  }
}

function objectMembers(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {};
}

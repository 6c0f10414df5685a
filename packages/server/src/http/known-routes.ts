import type { FastifyInstance } from 'fastify';

/** The routes of a server, to distinguish a wrong method from a wrong path. */
export class KnownRoutes {
  readonly #methods = new Map<string, Set<string>>();

  /** Records the routes that are registered after this call. */
  constructor(app: FastifyInstance) {
    app.addHook('onRoute', ({ url, method }) => {
      const methods = this.#methods.get(url) ?? new Set();
      for (const one of [method].flat()) methods.add(one);
      this.#methods.set(url, methods);
    });
  }

  /** The methods of a path; empty if no route has this path. */
  pathMethods(path: string): string[] {
    const parts = path.split('/');
    const found = [...this.#methods].filter(([url]) => fits(url.split('/'), parts));
    return [...new Set(found.flatMap(([, methods]) => [...methods]))].toSorted();
  }
}

function fits(pattern: readonly string[], parts: readonly string[]): boolean {
  return (
    pattern.length === parts.length && pattern.every((part, index) => part.startsWith(':') || part === parts[index])
  );
}

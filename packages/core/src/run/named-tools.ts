import type { Tool } from '../protocol/index.js';
import { identifierName } from '../text/identifier-name.js';

/** Maximum number of sources whose tools are cached. */
const MAX_CACHED = 1000;

/** Finds the tools without a declared result that a script may name. The cost of a known source is one look-up. */
export class NamedTools {
  readonly #byLastName = new Map<string, Tool[]>();
  readonly #named = new Map<string, readonly Tool[]>();

  constructor(tools: readonly Tool[]) {
    for (const tool of tools) {
      if (tool.outputSchema !== undefined) continue;
      const lastName = identifierName(tool.name).split('.').at(-1)!;
      this.#byLastName.set(lastName, [...(this.#byLastName.get(lastName) ?? []), tool]);
    }
  }

  in(source: string): readonly Tool[] {
    const known = this.#named.get(source);
    if (known !== undefined) return known;
    const words = new Set(source.match(/[\w$]+/gu));
    const named = [...words].flatMap((word) => this.#byLastName.get(word) ?? []);
    if (this.#named.size >= MAX_CACHED) this.#named.clear();
    this.#named.set(source, named);
    return named;
  }
}

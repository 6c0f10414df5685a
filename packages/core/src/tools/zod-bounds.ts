import { z } from 'zod';
import type { ZodSchema } from './zod-schema.js';

type Payload = z.core.ParsePayload;
type Issue = Payload['issues'][number];
type Run = ZodSchema['_zod']['run'];

/** Runs of the schemas below in one validation: what remains exponential ends here. */
const MAX_RUNS = 500_000;

/** Kinds of schemas that look at one value several times. Where they are recursive, that doubles at each level. */
const REPEATING: readonly string[] = ['union', 'intersection', 'pipe'];

/**
 * Keeps one validation from looking at the same value with the same schema again: the work grows with the
 * schemas times the values, and not with the power of the value's depth.
 */
export class ZodBounds {
  readonly #memories: Map<object, Payload>[] = [];
  #runs = 0;

  /** Changes the schema, which must be a copy of the user's. */
  bound(schema: ZodSchema, kind: string): void {
    if (!REPEATING.includes(kind)) return;
    const memory = new Map<object, Payload>();
    this.#memories.push(memory);
    // oxlint-disable-next-line no-underscore-dangle -- where zod keeps what it runs
    const internals = schema._zod as { run: Run };
    internals.run = this.#remembering(internals.run, memory);
  }

  /** Forgets what the validation before has found. */
  begin(): void {
    if (this.#runs === 0) return;
    this.#runs = 0;
    for (const memory of this.#memories) memory.clear();
  }

  #remembering(run: Run, memory: Map<object, Payload>): Run {
    return (payload, context) => {
      const { value } = payload;
      if (typeof value !== 'object' || value === null || payload.issues.length > 0) return run(payload, context);
      // defence: validation-memory
      if (memory.has(value)) return copyOf(memory.get(value) as Payload);
      // defence: validation-runs
      if (++this.#runs > MAX_RUNS) throw new Error('the data, or the schema of this tool, is too complex');
      const result = run(payload, context) as Payload;
      memory.set(value, copyOf(result));
      return result;
    };
  }
}

/** Whoever is given an issue writes the way to it into it. */
function copyOf({ value, issues }: Payload): Payload {
  return { value, issues: issues.map((issue) => ({ ...issue, ...(issue.path && { path: [...issue.path] }) }) as Issue) };
}

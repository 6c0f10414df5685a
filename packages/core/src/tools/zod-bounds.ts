import type { z } from 'zod';
import type { ZodSchema } from './zod-schema.js';

type Payload = z.core.ParsePayload;
type Issue = Payload['issues'][number];
type Run = ZodSchema['_zod']['run'];

/** Runs of the schemas below in one validation. A sensible schema needs a few for each value. */
const LEAST_RUNS = 10_000;
const RUNS_PER_VALUE = 30;

/** Kinds of schemas that look at one value several times. Where they are recursive, that doubles at each level. */
const REPEATING: readonly string[] = ['union', 'intersection', 'pipe'];

/**
 * Keeps one validation from looking at the same value with the same schema again: the work grows with the
 * schemas times the values, and not with the power of the value's depth.
 */
export class ZodBounds {
  readonly #memories: Map<object, Payload>[] = [];
  #runs = 0;
  #maxRuns = LEAST_RUNS;
  #data: unknown;

  /** Changes the schema, which must be a copy of the user's. */
  bound(schema: ZodSchema, kind: string): void {
    if (!REPEATING.includes(kind)) return;
    const memory = new Map<object, Payload>();
    this.#memories.push(memory);
    // oxlint-disable-next-line no-underscore-dangle -- where zod keeps what it runs
    const internals = schema._zod as { run: Run };
    internals.run = this.#remembering(internals.run, memory);
  }

  /** A validation of `data` begins. Forgets what the one before has found. */
  begin(data: unknown): void {
    this.#data = data;
    if (this.#runs === 0) return;
    this.#runs = 0;
    this.#maxRuns = LEAST_RUNS;
    for (const memory of this.#memories) memory.clear();
  }

  /** Counted only for data that needs it. */
  #allowMore(): void {
    const max = LEAST_RUNS + RUNS_PER_VALUE * countValues(this.#data);
    if (this.#runs > max) throw new Error('the data, or the schema of this tool, is too complex');
    this.#maxRuns = max;
  }

  #remembering(run: Run, memory: Map<object, Payload>): Run {
    return (payload, context) => {
      const { value } = payload;
      if (typeof value !== 'object' || value === null || payload.issues.length > 0) return run(payload, context);
      // Each schema and value are looked at once.
      if (memory.has(value)) return copyOf(memory.get(value) as Payload);
      // defence: validation-runs
      if (++this.#runs > this.#maxRuns) this.#allowMore();
      const result = run(payload, context) as Payload;
      memory.set(value, copyOf(result));
      return result;
    };
  }
}

/** Objects, arrays and what they hold. */
function countValues(data: unknown): number {
  let count = 0;
  const waiting: unknown[] = [data];
  while (waiting.length > 0) {
    const next = waiting.pop();
    count++;
    if (typeof next === 'object' && next !== null) for (const member of Object.values(next)) waiting.push(member);
  }
  return count;
}

/** The one that is given an issue writes the path into it. */
function copyOf({ value, issues }: Payload): Payload {
  return {
    value,
    issues: issues.map((issue) => ({ ...issue, ...(issue.path && { path: [...issue.path] }) }) as Issue),
  };
}

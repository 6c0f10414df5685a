import type { z } from 'zod';
import type { TextCheck } from './zod-patterns.js';
import type { ZodSchema } from './zod-types.js';

type Payload = z.core.ParsePayload;
type Issue = Payload['issues'][number];
type Run = ZodSchema['_zod']['run'];

/**
 * Maximum steps of one validation. Each takes about a tenth of a microsecond, so all of them stay below the time for
 * which the event loop may be blocked. A list of 30 000 numbers takes 30 000, and each row of four members takes 10.
 */
const MIN_STEPS = 200_000;
/** For data with more values than the default maximum of arguments. */
const STEPS_PER_VALUE = 7;
const STEPS_PER_ISSUE = 10;
/** The member in which zod prepends the path of an inner issue. */
const STEPS_PER_PATH = 2;
/** Maximum number of issues that are found in one value and its parts; no more are reported. */
const MAX_ISSUES = 50;

/** Kinds of schemas that validate one value several times. If they are recursive, the work doubles at each level. */
const REPEATING: readonly string[] = ['union', 'intersection', 'pipe'];
/** Kinds of schemas that collect the issues of many values. */
const HOLDING: readonly string[] = ['array', 'tuple', 'record'];

/** The reason to end a validation, or a part of it that has found enough issues. */
class WorkEnded extends Error {}

/**
 * Bounds the work of one validation for any schema and data. Each use of a schema and each issue counts as a step.
 * Repeating schemas validate each value only once, so the work grows with the product of schemas and values, and not
 * exponentially with the value's depth. A list or record with enough issues is not validated further.
 */
export class ZodBounds {
  readonly #memories: Map<object, Payload>[] = [];
  #steps = 0;
  #maxSteps = MIN_STEPS;
  #data: unknown;
  /** The value that the current schema validates. */
  #holder: Payload | undefined;
  /** An intersection discards issues of one side, so all of them must be known. */
  #intersections = 0;

  /** Changes the schema, which must be a copy of the user's. */
  bound(schema: ZodSchema, kind: string, textChecks: readonly TextCheck[]): void {
    // oxlint-disable-next-line no-underscore-dangle -- where zod keeps what it runs
    const internals = schema._zod as { run: Run };
    internals.run = this.#boundRun(internals.run, kind, textChecks);
  }

  /** Starts a validation of `data`. Drops the findings of the previous one. */
  begin(data: unknown): void {
    this.#data = data;
    this.#steps = 0;
    this.#maxSteps = MIN_STEPS;
    this.#holder = undefined;
    this.#intersections = 0;
    for (const memory of this.#memories) if (memory.size > 0) memory.clear();
  }

  #boundRun(run: Run, kind: string, textChecks: readonly TextCheck[]): Run {
    if (textChecks.length > 0) return this.#counted(this.#testingTexts(run, textChecks));
    if (kind === 'object') return this.#holding(this.#countingKeys(run));
    if (kind === 'intersection') return this.#remembering(this.#holding(this.#intersecting(run)));
    if (REPEATING.includes(kind)) return this.#remembering(this.#holding(run));
    return HOLDING.includes(kind) ? this.#holding(run) : this.#counted(run);
  }

  #counted(run: Run): Run {
    return (payload, context) => {
      this.#enter();
      const before = payload.issues.length;
      return this.#countIssues(run(payload, context) as Payload, before, STEPS_PER_ISSUE);
    };
  }

  /** Issues that were found before the work ended are a result too. */
  #holding(run: Run): Run {
    return (payload, context) => {
      this.#enter();
      const holder = this.#holder;
      const intersections = this.#intersections;
      const before = payload.issues.length;
      this.#holder = payload;
      try {
        return this.#countIssues(run(payload, context) as Payload, before, STEPS_PER_PATH);
      } catch (error) {
        this.#intersections = intersections;
        if (!(error instanceof WorkEnded) || payload.issues.length === 0 || intersections > 0) throw error;
        return payload;
      } finally {
        this.#holder = holder;
      }
    };
  }

  #intersecting(run: Run): Run {
    return (payload, context) => {
      this.#intersections += 1;
      const result = run(payload, context);
      this.#intersections -= 1;
      return result;
    };
  }

  /** Unknown keys are visited without a schema. */
  #countingKeys(run: Run): Run {
    return (payload, context) => {
      const { value } = payload;
      if (typeof value === 'object' && value !== null) this.#spend(Object.keys(value).length);
      return run(payload, context);
    };
  }

  /**
   * A text that is too long for one of its patterns is rejected and not skipped, because the tool relies on the
   * pattern.
   */
  #testingTexts(run: Run, checks: readonly TextCheck[]): Run {
    return (payload, context) => {
      const { value } = payload;
      if (typeof value === 'string') {
        const tooLong = checks.find(({ maxLength }) => value.length > maxLength);
        // defence: texts-of-patterns-are-bounded
        if (tooLong !== undefined) return withIssue(payload, tooLong.refusal);
        for (const check of checks) this.#spend(check.steps(value.length));
      }
      return run(payload, context);
    };
  }

  #remembering(run: Run): Run {
    const memory = new Map<object, Payload>();
    this.#memories.push(memory);
    return (payload, context) => {
      const { value } = payload;
      if (typeof value !== 'object' || value === null || payload.issues.length > 0) return run(payload, context);
      // Each pair of schema and value is validated once.
      const known = memory.get(value);
      if (known !== undefined) return copyOf(known);
      const result = run(payload, context) as Payload;
      memory.set(value, copyOf(result));
      return result;
    };
  }

  #enter(): void {
    // defence: issues-are-bounded
    if (this.#holder !== undefined && this.#holder.issues.length > MAX_ISSUES && this.#intersections === 0)
      throw new WorkEnded();
    this.#spend(1);
  }

  /** The issues of a finished result; zod rejects results that are still awaited. */
  #countIssues(result: Payload, before: number, steps: number): Payload {
    if (result.issues !== undefined) this.#steps += steps * (result.issues.length - before);
    return result;
  }

  #spend(steps: number): void {
    this.#steps += steps;
    // defence: validation-runs
    if (this.#steps > this.#maxSteps) this.#allowMore();
  }

  /** Counts the values of the data only if the validation exceeds the minimum. */
  #allowMore(): void {
    this.#maxSteps = Math.max(MIN_STEPS, STEPS_PER_VALUE * countValues(this.#data));
    if (this.#steps > this.#maxSteps)
      throw new WorkEnded('the data, or the schema of this tool, is too complex; send less in one call');
  }
}

function withIssue(payload: Payload, message: string): Payload {
  payload.issues.push({ code: 'custom', input: payload.value, message, path: [] } as unknown as Issue);
  return payload;
}

/** Objects, arrays and their contents. */
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

/** The caller that receives an issue prepends the path to it. */
function copyOf({ value, issues }: Payload): Payload {
  return {
    value,
    issues: issues.map((issue) => ({ ...issue, ...(issue.path && { path: [...issue.path] }) }) as Issue),
  };
}

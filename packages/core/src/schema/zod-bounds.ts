import { z } from 'zod';
import { judgePattern } from './safe-pattern.js';

export type ZodSchema = z.core.$ZodType;

type Payload = z.core.ParsePayload;
type Issue = Payload['issues'][number];
type Run = ZodSchema['_zod']['run'];

/**
 * Maximum steps of one validation. Each step takes about a tenth of a microsecond, so all steps together stay below the
 * time for which the event loop may be blocked. A list of 30 000 numbers takes 30 000 steps, and a list takes about 10
 * steps for each object with four members.
 */
const MIN_STEPS = 200_000;
/** The steps per value, for data with more values than the default maximum of arguments. */
const STEPS_PER_VALUE = 7;
const STEPS_PER_ISSUE = 10;
/** The steps for the path that zod prepends to an inner issue. */
const STEPS_PER_PATH = 2;
/** Maximum number of issues that are found in one value and its parts. */
const MAX_ISSUES = 50;

/** Kinds of schemas that validate one value several times. If they are recursive, the work doubles at each level. */
const REPEATING: readonly string[] = ['union', 'intersection', 'pipe'];
/** Kinds of schemas that collect the issues of many values. */
const HOLDING: readonly string[] = ['array', 'tuple', 'record'];

/** Ends a validation, or a part of a validation that has found enough issues. */
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
  /** The payload of the innermost schema that contains other schemas. */
  #holder: Payload | undefined;
  /**
   * The number of open intersections. An intersection discards issues of one side, so all of its issues must be known.
   */
  #intersections = 0;

  /** Adds the bounds to the schema, which must be a copy of the user's schema. */
  bound(schema: ZodSchema, kind: string, textChecks: readonly TextCheck[]): void {
    // oxlint-disable-next-line no-underscore-dangle -- where zod keeps what it runs
    const internals = schema._zod as { run: Run };
    internals.run = this.#boundRun(internals.run, kind, textChecks);
  }

  /** Starts a validation of `data`. Drops the stored results of the previous validation. */
  begin(data: unknown): void {
    this.#data = data;
    this.#steps = 0;
    this.#maxSteps = MIN_STEPS;
    this.#holder = undefined;
    this.#intersections = 0;
    for (const memory of this.#memories) if (memory.size > 0) memory.clear();
  }

  #boundRun(run: Run, kind: string, textChecks: readonly TextCheck[]): Run {
    if (textChecks.length > 0) return this.#countedRun(this.#testingTexts(run, textChecks));
    if (kind === 'object') return this.#holding(this.#countingKeys(run));
    if (kind === 'intersection') return this.#remembering(this.#holding(this.#intersecting(run)));
    if (REPEATING.includes(kind)) return this.#remembering(this.#holding(run));
    return HOLDING.includes(kind) ? this.#holding(run) : this.#countedRun(run);
  }

  #countedRun(run: Run): Run {
    return (payload, context) => {
      this.#enter();
      const before = payload.issues.length;
      return this.#countIssues(run(payload, context) as Payload, before, STEPS_PER_ISSUE);
    };
  }

  /** Ends a list or record that has found enough issues. The issues found so far are its result. */
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

  /** Counts the keys of an object, because zod visits unknown keys without a schema. */
  #countingKeys(run: Run): Run {
    return (payload, context) => {
      const { value } = payload;
      if (typeof value === 'object' && value !== null) this.#spend(Object.keys(value).length);
      return run(payload, context);
    };
  }

  /**
   * Rejects a text that is too long for a pattern of its schema. The pattern is not skipped, because the tool relies on
   * the pattern.
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
      if (known !== undefined) return copyPayload(known);
      const result = run(payload, context) as Payload;
      memory.set(value, copyPayload(result));
      return result;
    };
  }

  #enter(): void {
    // defence: issues-are-bounded
    if (this.#holder !== undefined && this.#holder.issues.length > MAX_ISSUES && this.#intersections === 0)
      throw new WorkEnded();
    this.#spend(1);
  }

  /** Counts the issues of a result. A promise has no issues yet; zod rejects it. */
  #countIssues(result: Payload, before: number, steps: number): Payload {
    if (result.issues !== undefined) this.#steps += steps * (result.issues.length - before);
    return result;
  }

  #spend(steps: number): void {
    this.#steps += steps;
    // defence: validation-runs
    if (this.#steps > this.#maxSteps) this.#allowMore();
  }

  /**
   * Raises the maximum for large data. The values of the data are counted only if the validation exceeds the minimum.
   */
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

/** Counts a value and all values inside it. */
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

/** Copies a result, because the caller that receives an issue prepends the path to the issue. */
function copyPayload({ value, issues }: Payload): Payload {
  return {
    value,
    issues: issues.map((issue) => ({ ...issue, ...(issue.path && { path: [...issue.path] }) }) as Issue),
  };
}

/** The cost of one regular expression of a schema, and the maximum length of a text that is tested with it. */
export interface TextCheck {
  readonly maxLength: number;
  /** Returns the number of steps of a validation that the test of a text with this many characters takes. */
  readonly steps: (length: number) => number;
  /** The message for a longer text. */
  readonly refusal: string;
}

/** Maximum steps of the regular expression engine in the worst test: about 20 ms. */
const MAX_PATTERN_STEPS = 10_000_000;
/** Number of engine steps that take as long as one step of a validation. */
const STEPS_AT_ONCE = 50;
/** The check for zod's own formats, which are tested in linear time, with texts of any length. */
const OWN_FORMAT: TextCheck = {
  maxLength: Number.POSITIVE_INFINITY,
  steps: (length) => length / STEPS_AT_ONCE,
  refusal: '',
};

/** The error for a pattern that may take exponential time. The message contains the reason and the fix. */
export class UnsafeZodPattern extends Error {}

interface StringFormat {
  readonly check?: string | undefined;
  readonly format?: string | undefined;
  readonly pattern?: RegExp | undefined;
}

type CheckedSchema = z.core.$ZodType | z.core.$ZodCheck;

/**
 * Returns the checks for the regular expressions of a schema. Throws an `UnsafeZodPattern` for an unsafe expression.
 */
export function schemaTextChecks(schema: ZodSchema): TextCheck[] {
  // oxlint-disable no-underscore-dangle -- where zod keeps what it runs
  const def = schema._zod.def as { type: string; checks?: CheckedSchema[] | undefined };
  if (def.type === 'template_literal') return [judgedCheck(schema._zod.pattern as RegExp)];
  return [schema as CheckedSchema, ...(def.checks ?? [])].flatMap((check) => {
    const format = check._zod.def as StringFormat;
    if (format.check !== 'string_format') return [];
    return isOwnPattern(check, format) ? [OWN_FORMAT] : [judgedCheck(format.pattern as RegExp)];
  });
}

/** The patterns that zod offers for `.regex()` and for its formats. */
const OWN_PATTERNS = new Set(
  Object.values(z.regexes)
    .filter((value) => value instanceof RegExp)
    .map(String),
);

/** Whether zod itself supplies the pattern, or derives it from the format's options. */
function isOwnPattern(check: CheckedSchema, format: StringFormat): boolean {
  if (format.pattern === undefined || OWN_PATTERNS.has(String(format.pattern))) return true;
  const constructor = (check._zod as unknown as { constr: new (def: object) => CheckedSchema }).constr;
  const own = (new constructor({ ...format, pattern: undefined, checks: [] })._zod.def as StringFormat).pattern;
  return own !== undefined && String(own) === String(format.pattern);
}
// oxlint-enable no-underscore-dangle

function judgedCheck(pattern: RegExp): TextCheck {
  const verdict = judgePattern(pattern.source, { flags: pattern.flags, maxSteps: MAX_PATTERN_STEPS });
  if (verdict.safe) {
    const { maxLength, steps } = verdict;
    return {
      maxLength,
      steps: (length) => steps(length) / STEPS_AT_ONCE,
      refusal: `is too long to be tested with ${String(pattern)}, which takes at most ${maxLength} characters`,
    };
  }
  // defence: zod-patterns-are-judged
  throw new UnsafeZodPattern(
    `the pattern ${String(pattern)} may take exponential time, and a script chooses the text: ${verdict.reason}. ` +
      'Write a simpler pattern, or test the text in .refine()',
  );
}

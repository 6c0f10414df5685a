import { z } from 'zod';
import { judgePattern } from './safe-pattern.js';
import type { ZodSchema } from './zod-types.js';

/** The cost of one regular expression of a schema, and the maximum length of a text that is tested with it. */
export interface TextCheck {
  readonly maxLength: number;
  /** Steps of a validation to test a text of this many characters. */
  readonly steps: (length: number) => number;
  /** The message for a longer text. */
  readonly refusal: string;
}

/** Maximum steps of the regular expression engine in the worst test: about 20 ms. */
const MAX_PATTERN_STEPS = 10_000_000;
/** Number of these steps that take as long as one step of a validation. */
const STEPS_AT_ONCE = 50;
/** zod's own formats are tested in linear time, with texts of any length. */
const OWN_FORMAT: TextCheck = {
  maxLength: Number.POSITIVE_INFINITY,
  steps: (length) => length / STEPS_AT_ONCE,
  refusal: '',
};

/** Thrown for a pattern that may take exponential time. The message contains the reason and the fix. */
export class UnsafeZodPattern extends Error {}

interface StringFormat {
  readonly check?: string;
  readonly format?: string;
  readonly pattern?: RegExp;
}

type Checked = z.core.$ZodType | z.core.$ZodCheck;

/** The regular expressions with which a text is tested, for a separate schema. Throws an `UnsafeZodPattern`. */
export function textChecksOf(schema: ZodSchema): TextCheck[] {
  // oxlint-disable no-underscore-dangle -- where zod keeps what it runs
  const def = schema._zod.def as { type: string; checks?: Checked[] };
  if (def.type === 'template_literal') return [judged(schema._zod.pattern as RegExp)];
  return [schema as Checked, ...(def.checks ?? [])].flatMap((check) => {
    const format = check._zod.def as StringFormat;
    if (format.check !== 'string_format') return [];
    return isOwnPattern(check, format) ? [OWN_FORMAT] : [judged(format.pattern as RegExp)];
  });
}

/** The patterns that zod offers for `.regex()` and for its formats. */
const OWN_PATTERNS = new Set(
  Object.values(z.regexes)
    .filter((value) => value instanceof RegExp)
    .map(String),
);

/** Whether the pattern is one of zod's, or one that zod derives from the format's options. */
function isOwnPattern(check: Checked, format: StringFormat): boolean {
  if (format.pattern === undefined || OWN_PATTERNS.has(String(format.pattern))) return true;
  const constructor = (check._zod as unknown as { constr: new (def: object) => Checked }).constr;
  const own = (new constructor({ ...format, pattern: undefined, checks: [] })._zod.def as StringFormat).pattern;
  return own !== undefined && String(own) === String(format.pattern);
}
// oxlint-enable no-underscore-dangle

function judged(pattern: RegExp): TextCheck {
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
      'Write it without that, or use .refine() to test it as code of your own',
  );
}

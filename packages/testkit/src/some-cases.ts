/** Laws that take long are tested on all of their cases. */
export const ALL_CASES = process.env['TOOLSCRIPT_ALL_CASES'] !== undefined;

/** Every n-th case, from a start index; all of them if `TOOLSCRIPT_ALL_CASES` is set. */
export function someCases<Case>(cases: readonly Case[], step: number, from = 0): readonly Case[] {
  return ALL_CASES ? cases : cases.filter((_, index) => (index + from) % step === 0);
}

/** The number of cases, for the title of a test. */
export function cases(step: number, name: string): string {
  return ALL_CASES ? `every ${name}` : `one ${name} in ${step}`;
}

/** True if there is time for every try of a law: in continuous integration. */
const TRIES_ALL = ALL_CASES || process.env['CI'] !== undefined;

/** Every n-th case; all of them in continuous integration. */
export function sampleCases<Case>(cases: readonly Case[], step: number): readonly Case[] {
  return TRIES_ALL ? cases : someCases(cases, step);
}

/**
 * The number of tries of a law: `count` in continuous integration, elsewhere a fifth of that or `min`. A law that
 * counts its cases must see enough of them in both.
 */
export function tries(count: number, min = 20): number {
  return TRIES_ALL ? count : Math.min(count, Math.max(min, Math.ceil(count / 5)));
}

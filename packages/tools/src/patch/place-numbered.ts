import type { LineSearch } from './line-search.js';
import { isOnlyAdditions, oldLines, withoutTrailingBlank, type Placement } from './match.js';
import type { Hunk, HunkNumbers } from './operations.js';

/** The position of a hunk, or several equally good positions as indices from 0. */
export type NumberedPlacement =
  | { readonly status: 'placed'; readonly placement: Placement }
  | { readonly status: 'ambiguous'; readonly candidates: readonly number[] }
  | { readonly status: 'missing' };

const MISSING: NumberedPlacement = { status: 'missing' };

/**
 * Places a hunk of a unified diff. The hunk's line number, shifted like the previous hunk, is the position if the
 * hunk's lines are at that number. Otherwise the lines must occur exactly once, unless the header names a context.
 *
 * @param cursor The hunk starts at or after this line.
 * @param drift The number of lines by which the previous hunk is below its line number in the patch, negative if above.
 */
export async function placeNumbered(
  file: LineSearch,
  hunk: Hunk,
  numbers: HunkNumbers,
  cursor: number,
  drift: number,
): Promise<NumberedPlacement> {
  const expected = numbers.start === undefined ? undefined : numbers.start + drift;
  if (isOnlyAdditions(hunk)) return placeAdditions(file, hunk, expected, cursor);
  for (const lines of [hunk.lines, withoutTrailingBlank(hunk.lines)]) {
    if (lines === undefined) continue;
    const wanted = oldLines(lines);
    const placed = (first: number): NumberedPlacement => ({
      status: 'placed',
      placement: { first, end: first + wanted.length, lines },
    });
    if (expected !== undefined && expected >= cursor && file.isAt(wanted, expected)) return placed(expected);
    const places = await file.seekAll(wanted, cursor);
    // If the search was abandoned, one match does not prove that it is unique.
    if (file.exhausted) return MISSING;
    if (places.length === 0) continue;
    if (places.length === 1 || hunk.contexts.length > 0) return placed(places[0]!);
    return expected !== undefined && places.includes(expected)
      ? placed(expected)
      : { status: 'ambiguous', candidates: places };
  }
  return MISSING;
}

/**
 * Places additions without context. Only their line number identifies a position. Without a line number, the additions
 * are appended, as in the Codex format.
 */
function placeAdditions(file: LineSearch, hunk: Hunk, expected: number | undefined, cursor: number): NumberedPlacement {
  const first = expected ?? file.length;
  if (first < cursor || first > file.length) return MISSING;
  return { status: 'placed', placement: { first, end: first, lines: hunk.lines } };
}

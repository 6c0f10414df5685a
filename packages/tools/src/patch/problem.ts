import { failure } from '../failure.js';
import { visible } from '../files/path-rules.js';

const SHOWN_CHARACTERS = 120;

/** An error that shows a line of the patch and its number in the original text. */
export function patchProblem(lines: readonly string[], skipped: number, at: number, what: string): Error {
  const patchLine = at + 1 + skipped;
  return failure(
    'patch_syntax',
    `The patch is not well formed at line ${patchLine} ('${shownLine(lines[at])}'): ${what}.`,
    { patchLine },
  );
}

/** Like `patchProblem`, for a well-formed line that cannot be applied. */
export function patchRefusal(lines: readonly string[], skipped: number, at: number, why: string): Error {
  const patchLine = at + 1 + skipped;
  return failure(
    'patch_syntax',
    `Line ${patchLine} of the patch ('${shownLine(lines[at])}') cannot be applied: ${why}.`,
    {
      patchLine,
    },
  );
}

function shownLine(line = ''): string {
  return visible(line.length > SHOWN_CHARACTERS ? `${line.slice(0, SHOWN_CHARACTERS)}…` : line);
}

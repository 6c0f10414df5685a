/**
 * The shortest patch that the format allows: a hunk for each run of changed lines, without context lines.
 *
 * @param {{ path: string, hunks: { from: string[], to: string[] }[] }[]} updates
 */
export function patchOf(updates) {
  const sections = updates.map(({ path, hunks }) => [`*** Update File: ${path}`, ...hunks.flatMap(hunkLines)]);
  return ['*** Begin Patch', ...sections.flat(), '*** End Patch'].join('\n');
}

/** The hunks between two texts with the same number of lines: a hunk for each line that differs. */
export function changedLines(before, after) {
  const lines = after.split('\n');
  return before
    .split('\n')
    .flatMap((line, index) => (line === lines[index] ? [] : [{ from: [line], to: [lines[index]] }]));
}

function hunkLines({ from, to }) {
  return ['@@', ...from.map((line) => `-${line}`), ...to.map((line) => `+${line}`)];
}

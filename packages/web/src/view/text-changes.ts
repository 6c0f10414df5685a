import type { DiffLine } from './diff-lines.ts';

/** Unchanged lines that are shown around each change. */
const CONTEXT = 3;
/** The maximum number of compared pairs of lines. Larger changes are shown as a whole: all old lines, all new lines. */
const MAX_PAIRS = 400_000;

/** The changed lines between two texts, each with its unchanged neighbours. */
export function textChanges(before: string, after: string): DiffLine[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const middle = changedLines(old.slice(start, old.length - end), now.slice(start, now.length - end));
  return withoutDistantContext([
    ...old.slice(0, start).map((text): DiffLine => ({ kind: 'context', text: ` ${text}` })),
    ...middle,
    ...old.slice(old.length - end).map((text): DiffLine => ({ kind: 'context', text: ` ${text}` })),
  ]);
}

/** The lines of two texts by their longest common subsequence. */
function changedLines(old: readonly string[], now: readonly string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: 'removed', text: `-${text}` });
  const added = (text: string): DiffLine => ({ kind: 'added', text: `+${text}` });
  if (old.length * now.length > MAX_PAIRS) return [...old.map(removed), ...now.map(added)];
  const lengths = commonLengths(old, now);
  const lines: DiffLine[] = [];
  let [left, right] = [0, 0];
  while (left < old.length || right < now.length) {
    if (left < old.length && right < now.length && old[left] === now[right]) {
      lines.push({ kind: 'context', text: ` ${old[left]}` });
      [left, right] = [left + 1, right + 1];
    } else if (right >= now.length || (left < old.length && lengths[left + 1]![right]! >= lengths[left]![right + 1]!))
      lines.push(removed(old[left++]!));
    else lines.push(added(now[right++]!));
  }
  return lines;
}

/** For each pair of positions: the length of the longest common subsequence of the lines after them. */
function commonLengths(old: readonly string[], now: readonly string[]): number[][] {
  const lengths = Array.from({ length: old.length + 1 }, () => Array.from({ length: now.length + 1 }, () => 0));
  for (let left = old.length - 1; left >= 0; left -= 1)
    for (let right = now.length - 1; right >= 0; right -= 1)
      lengths[left]![right] =
        old[left] === now[right]
          ? lengths[left + 1]![right + 1]! + 1
          : Math.max(lengths[left + 1]![right]!, lengths[left]![right + 1]!);
  return lengths;
}

/** Replaces unchanged lines far from a change by their number. */
function withoutDistantContext(lines: readonly DiffLine[]): DiffLine[] {
  const near = new Set<number>();
  for (const [index, { kind }] of lines.entries())
    if (kind !== 'context') for (let by = -CONTEXT; by <= CONTEXT; by += 1) near.add(index + by);
  const shown: DiffLine[] = [];
  let omitted = 0;
  const close = () => {
    if (omitted > 0) shown.push({ kind: 'heading', text: `@@ ${omitted} unchanged @@` });
    omitted = 0;
  };
  for (const [index, line] of lines.entries()) {
    if (!near.has(index)) {
      omitted += 1;
      continue;
    }
    close();
    shown.push(line);
  }
  close();
  return shown;
}

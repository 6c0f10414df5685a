import type { DiffLine } from './diff-lines.ts';

/** The diff of a change, from the diff of its undoing. In each group of changed lines, the removed ones come first. */
export function reversedDiff(lines: readonly DiffLine[]): DiffLine[] {
  const reversed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const close = () => {
    reversed.push(...added);
    added = [];
  };
  for (const { kind, text } of lines) {
    if (kind === 'removed') added.push({ kind: 'added', text: `+${text.slice(1)}` });
    else if (kind === 'added') reversed.push({ kind: 'removed', text: `-${text.slice(1)}` });
    else {
      close();
      // The heads name the files in the order of the undoing.
      if (!/^(?:---|\+\+\+) /u.test(text)) reversed.push({ kind, text });
    }
  }
  close();
  return reversed;
}

/** The numbers of added and removed lines of a diff. */
export function lineCounts(lines: readonly DiffLine[]): { readonly added: number; readonly removed: number } {
  const count = (kind: DiffLine['kind']) => lines.filter((line) => line.kind === kind).length;
  return { added: count('added'), removed: count('removed') };
}

export interface DiffLine {
  readonly kind: 'added' | 'removed' | 'heading' | 'context';
  readonly text: string;
}

/** The lines of a rendered call. Only a text that looks like a patch or a diff has added and removed lines. */
export function diffLines(rendered: string): { readonly isDiff: boolean; readonly lines: readonly DiffLine[] } {
  const lines = rendered.split('\n');
  const isDiff = lines.some((line) => /^\s*(?:@@|\*\*\* (?:Update|Add|Delete) File:|--- |\+\+\+ )/u.test(line));
  return { isDiff, lines: lines.map((text) => ({ text, kind: isDiff ? diffLineKind(text.trimStart()) : 'context' })) };
}

function diffLineKind(line: string): DiffLine['kind'] {
  if (/^(?:@@|\*\*\* |--- |\+\+\+ )/u.test(line)) return 'heading';
  if (line.startsWith('+')) return 'added';
  return line.startsWith('-') ? 'removed' : 'context';
}

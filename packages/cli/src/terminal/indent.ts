/** Moves every line but the first to the right; blanks at the end are left out. */
export function indent(text: string, columns = 2): string {
  return text.trimEnd().replaceAll('\n', `\n${' '.repeat(columns)}`);
}

/** Indents every line except the first; omits white space at the end. */
export function indent(text: string, columns = 2): string {
  return text.trimEnd().replaceAll('\n', `\n${' '.repeat(columns)}`);
}

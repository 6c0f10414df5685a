/** A file as lines that remember their own ends, so that what a patch does not touch stays byte for byte. */
export interface FileLines {
  readonly lines: readonly FileLine[];
  /** What new lines end with: the end of the file's first line, or LF. */
  readonly lineEnd: string;
  /** False where the last line has no line end. True for an empty file. */
  readonly finalLineEnd: boolean;
  /** A byte order mark at the start, or ''. */
  readonly mark: string;
}

export interface FileLine {
  readonly text: string;
  /** LF, CRLF, or '' for a last line without one. */
  readonly end: string;
}

export function toFileLines(text: string): FileLines {
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : '';
  const pieces = text.slice(mark.length).split('\n');
  const last = pieces.pop()!;
  const lines = pieces.map((piece) =>
    piece.endsWith('\r') ? { text: piece.slice(0, -1), end: '\r\n' } : { text: piece, end: '\n' },
  );
  const lineEnd = lines[0]?.end ?? '\n';
  return { lines: last === '' ? lines : [...lines, { text: last, end: '' }], lineEnd, finalLineEnd: last === '', mark };
}

/** The file's text again, with `lines` in place of its own. */
export function fromFileLines(file: FileLines, lines: readonly FileLine[]): string {
  const pieces = lines.map(({ text, end }, index) => {
    const isLast = index === lines.length - 1;
    return text + (isLast && !file.finalLineEnd ? '' : end || file.lineEnd);
  });
  return file.mark + pieces.join('');
}

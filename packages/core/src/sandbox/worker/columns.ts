/**
 * The engine counts columns in bytes of UTF-8; the rest of the program counts UTF-16 units. Where the source is ASCII
 * they are the same, and nothing is done.
 */
export class ColumnReader {
  /** Columns need no change. */
  readonly areBytes: boolean;
  readonly #source: string;
  #lines: string[] | undefined;

  constructor(source: string) {
    this.#source = source;
    this.areBytes = !/[^\u0000-\u007f]/u.test(source);
  }

  /** A 1-based column in UTF-16 units from a 1-based one in bytes. */
  column(line: number, byteColumn: number): number {
    if (this.areBytes || byteColumn <= 1) return byteColumn;
    this.#lines ??= this.#source.split('\n');
    const text = this.#lines[line - 1];
    if (text === undefined) return byteColumn;
    return (
      Buffer.from(text)
        .subarray(0, byteColumn - 1)
        .toString().length + 1
    );
  }

  stack(trace: string): string {
    return trace.replaceAll(
      /script\.ts:(\d+):(\d+)/gu,
      (_match, line: string, column: string) => `script.ts:${line}:${this.column(Number(line), Number(column))}`,
    );
  }
}

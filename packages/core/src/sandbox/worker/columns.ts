/**
 * The engine counts columns in bytes of UTF-8; the rest of the program counts UTF-16 units. In ASCII sources they are
 * equal, and nothing is converted.
 */
export class ColumnReader {
  /** True: columns need no conversion. */
  readonly areBytes: boolean;
  readonly #source: string;
  #lines: string[] | undefined;

  constructor(source: string) {
    this.#source = source;
    this.areBytes = !/[^\u0000-\u007f]/u.test(source);
  }

  /** Converts a 1-based column in bytes to one in UTF-16 units. */
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

export interface Mark {
  readonly name: string;
  readonly file: string;
  /** The replacement of a removed defence; undefined if there is none. */
  readonly code: string | undefined;
  /** The offset of the end of the mark's line. */
  readonly offset: number;
}

export interface Row {
  readonly name: string;
  readonly file: string;
  readonly title: string;
}

export function readMutants(): Map<string, string>;
export function findMarks(): Mark[];
export function readTable(): Row[];
export function withoutDefence(mark: Mark, source?: string): string;

/** One operation of a patch as written, before any lookup. */
export type PatchOperation = AddOperation | DeleteOperation | UpdateOperation;

/** The paths in the operation: the changed file, its alternative name, and the destination of a move. */
export function operationPaths(operation: PatchOperation): string[] {
  if (operation.kind !== 'update') return [operation.path];
  return [operation.path, operation.oldName, operation.movedTo].filter((path) => path !== undefined);
}

interface OperationPlace {
  readonly path: string;
  /** The line of the patch at which the operation starts. The first line is 1. */
  readonly patchLine: number;
}

export interface AddOperation extends OperationPlace {
  readonly kind: 'add';
  readonly content: string;
  /** Number of lines of the content. */
  readonly added: number;
  /** True in unified diffs: the file must not exist yet. */
  readonly mustBeNew?: boolean | undefined;
}

export interface DeleteOperation extends OperationPlace {
  readonly kind: 'delete';
  /** The complete content of the file according to a unified diff; undefined if the patch does not show it. */
  readonly hunks?: readonly Hunk[] | undefined;
}

export interface UpdateOperation extends OperationPlace {
  readonly kind: 'update';
  readonly movedTo: string | undefined;
  /** True: the destination must not exist yet. */
  readonly mustBeNew?: boolean | undefined;
  /** The other name in the header of a unified diff. One of the two files exists. */
  readonly oldName?: string | undefined;
  readonly hunks: readonly Hunk[];
}

/** One change of a file: lines to find, in order, and their replacement. */
export interface Hunk {
  /** The number of the hunk within its file, from 1. */
  readonly number: number;
  readonly patchLine: number;
  /** Lines named after `@@`; the search continues after them. */
  readonly contexts: readonly string[];
  readonly lines: readonly HunkLine[];
  /** True: the hunk's lines are the last lines of the file. */
  readonly atEnd: boolean;
  /**
   * The numbers in the header of a unified diff. The hunk is placed at its line number or, if its lines are elsewhere,
   * at the only position that matches.
   */
  readonly numbered?: HunkNumbers | undefined;
}

export interface HunkNumbers {
  /** Index of the old lines in the original file, starting at 0; undefined if the header has no numbers. */
  readonly start: number | undefined;
  /** Whether the new file ends with a line ending according to the hunk; undefined if the hunk does not show it. */
  readonly finalLineEnd: boolean | undefined;
}

export interface HunkLine {
  readonly kind: 'keep' | 'add' | 'remove';
  readonly text: string;
  /** The line ending of an added line. Undefined: the line gets the ending of the adjacent lines. */
  readonly end?: '\n' | '\r\n' | undefined;
}

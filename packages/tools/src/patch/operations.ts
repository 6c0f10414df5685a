/** What a patch says, before anything was looked up. */
export type PatchOperation = AddOperation | DeleteOperation | UpdateOperation;

/** The paths as the patch writes them: what is changed, what it may be called instead, where it is moved to. */
export function pathsOf(operation: PatchOperation): string[] {
  if (operation.kind !== 'update') return [operation.path];
  return [operation.path, operation.oldName, operation.movedTo].filter((path) => path !== undefined);
}

interface OperationPlace {
  readonly path: string;
  /** Line of the patch where the operation begins, from 1. */
  readonly patchLine: number;
}

export interface AddOperation extends OperationPlace {
  readonly kind: 'add';
  readonly content: string;
  /** Lines of the content. */
  readonly added: number;
  /** A unified diff says so; nothing may lie there yet. */
  readonly mustBeNew?: boolean;
}

export interface DeleteOperation extends OperationPlace {
  readonly kind: 'delete';
  /** What a unified diff says that the file holds, all of it; undefined where the patch does not say. */
  readonly hunks?: readonly Hunk[];
}

export interface UpdateOperation extends OperationPlace {
  readonly kind: 'update';
  readonly movedTo: string | undefined;
  /** Nothing may lie at the new place yet. */
  readonly mustBeNew?: boolean;
  /** The other name in the header of a unified diff: the file has one of the two. */
  readonly oldName?: string;
  readonly hunks: readonly Hunk[];
}

/** One change of a file: lines to find, in order, and what becomes of them. */
export interface Hunk {
  /** From 1, within its file. */
  readonly number: number;
  readonly patchLine: number;
  /** Lines named after `@@`; the search goes on behind them. */
  readonly contexts: readonly string[];
  readonly lines: readonly HunkLine[];
  /** The hunk's lines are the last of the file. */
  readonly atEnd: boolean;
  /** Only in unified diffs: their hunks are placed by number and must be found in one place only. */
  readonly numbered?: HunkNumbers;
}

export interface HunkNumbers {
  /** Index of the old lines in the file before the patch, from 0; undefined where the header has no numbers. */
  readonly start: number | undefined;
  /** What the hunk says about the end of the new file; undefined where it says nothing. */
  readonly finalLineEnd: boolean | undefined;
}

export interface HunkLine {
  readonly kind: 'keep' | 'add' | 'remove';
  readonly text: string;
  /** How an added line ends; undefined: like the lines around it. */
  readonly end?: '\n' | '\r\n' | undefined;
}

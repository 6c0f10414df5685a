/** What a patch says, before anything was looked up. */
export type PatchOperation = AddOperation | DeleteOperation | UpdateOperation;

/** The paths as the patch writes them: what is changed, and where it is moved to. */
export function pathsOf(operation: PatchOperation): string[] {
  return operation.kind === 'update' && operation.movedTo !== undefined
    ? [operation.path, operation.movedTo]
    : [operation.path];
}

interface OperationPlace {
  readonly path: string;
  /** Line of the patch where the operation begins, from 1. */
  readonly patchLine: number;
}

export interface AddOperation extends OperationPlace {
  readonly kind: 'add';
  readonly lines: readonly string[];
}

export interface DeleteOperation extends OperationPlace {
  readonly kind: 'delete';
}

export interface UpdateOperation extends OperationPlace {
  readonly kind: 'update';
  readonly movedTo: string | undefined;
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
}

export interface HunkLine {
  readonly kind: 'keep' | 'add' | 'remove';
  readonly text: string;
}

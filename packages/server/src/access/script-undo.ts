export type UndoDirection = 'undo' | 'redo';

interface UndoneFile {
  /** The path in the form that the tools show. */
  readonly path: string;
  /** The effect of the undo on the file. */
  readonly change: 'create' | 'update' | 'delete';
  /** A unified diff, or a sentence for a file that is not text. Present only if the request asked for diffs. */
  readonly diff?: string | undefined;
}

interface UndoProblem {
  readonly path: string;
  readonly reason: string;
}

/** A call of the script that has effects. */
interface UndoCall {
  readonly callId: string;
  readonly tool: string;
  readonly line?: number | undefined;
  /** The reason why the undo does not include the call. */
  readonly reason?: string | undefined;
}

/** The effects of an undo of a script, planned or done. */
export interface UndoReport {
  readonly scriptId: string;
  readonly direction: UndoDirection;
  /** Identifies the file changes that the undo reverts. The request that confirms the undo repeats this id. */
  readonly planId?: string | undefined;
  /** True if the undo was done, false for a plan and for a refused undo. */
  readonly isDone: boolean;
  /** The reason why the undo is refused. A refused undo changes nothing. */
  readonly refusal?: { readonly code: string; readonly message: string } | undefined;
  readonly files: UndoneFile[];
  /** The files that prevent the undo, because another change followed those of the script. */
  readonly conflicts: UndoProblem[];
  /** The files that stay as they are, because their old content was not stored. */
  readonly notUndoable: UndoProblem[];
  /** The calls that their tools undo, newest first. */
  readonly calls: UndoCall[];
  /** The calls whose effects stay. */
  readonly notUndone: UndoCall[];
}

export interface UndoRequest {
  readonly scriptId: string;
  /** The owner of the script; undefined for the user of this machine. */
  readonly principal: string | undefined;
  readonly direction: UndoDirection;
}

/** Undoes the effects of scripts. Both functions return undefined if the principal has no such script. */
export interface ScriptUndo {
  /** Changes nothing. */
  preview(request: UndoRequest & { readonly diff?: boolean | undefined }): Promise<UndoReport | undefined>;
  /** `planId`: the id in the preview that the user has confirmed. */
  undo(request: UndoRequest & { readonly planId?: string | undefined }): Promise<UndoReport | undefined>;
}

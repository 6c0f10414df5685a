export type UndoDirection = 'undo' | 'redo';

interface UndoneFile {
  /** As the tools name it. */
  readonly path: string;
  /** The effect of the undo on the file. */
  readonly change: 'create' | 'update' | 'delete';
  /** A unified diff, or a sentence for a file that is not text. Only if it was requested. */
  readonly diff?: string;
}

interface UndoProblem {
  readonly path: string;
  readonly reason: string;
}

/** A call with effects of the script. */
interface UndoCall {
  readonly callId: string;
  readonly tool: string;
  readonly line?: number;
  /** The reason why the call is not undone. */
  readonly reason?: string;
}

/** The effects of an undo of a script, planned or done. */
export interface UndoReport {
  readonly scriptId: string;
  readonly direction: UndoDirection;
  /** Names the file changes that it reverts, for the request that confirms them. */
  readonly planId?: string;
  /** True: it was done. */
  readonly isDone: boolean;
  /** The reason why the undo is refused; then nothing was changed. */
  readonly refusal?: { readonly code: string; readonly message: string };
  readonly files: UndoneFile[];
  /** The files that prevent it, because they were changed since. */
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

/** Undoes the effects of scripts. Both are undefined if the principal has no such script. */
export interface ScriptUndo {
  /** Changes nothing. */
  preview(request: UndoRequest & { readonly diff?: boolean }): Promise<UndoReport | undefined>;
  /** `planId`: of the preview that the user has seen. */
  undo(request: UndoRequest & { readonly planId?: string | undefined }): Promise<UndoReport | undefined>;
}

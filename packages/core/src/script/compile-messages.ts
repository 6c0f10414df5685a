import type { CompiledScript, Diagnostic, PlannedCall, ScriptFailure } from '../protocol/index.js';
import type { EditLayers } from './edits.js';
import type { SourceFacts } from './source-facts.js';

/** What the compiler's thread is asked. One at a time. */
export interface CompileRequest {
  readonly source: string;
  /** Undefined: names are not checked. */
  readonly toolNames: readonly string[] | undefined;
  /** Whether the type checker will look at the script. */
  readonly wantsFacts: boolean;
}

/** What it answers: plain data. */
export type CompileAnswer =
  | {
      readonly type: 'compiled';
      readonly javascript: string;
      readonly mappings: string;
      readonly layers: EditLayers;
      readonly diagnostics: readonly Diagnostic[];
      readonly plan: readonly PlannedCall[];
      readonly patterns: CompiledScript['patterns'];
      /** Where they were wanted. */
      readonly facts: SourceFacts | undefined;
    }
  | { readonly type: 'failed'; readonly failure: ScriptFailure; readonly diagnostics: readonly Diagnostic[] };

export type ThreadMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'answer'; readonly answer: CompileAnswer }
  /** The thread's own fault. `detail` is for the host's log only. */
  | { readonly type: 'broken'; readonly detail: string };

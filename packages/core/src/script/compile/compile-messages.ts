import type {
  CompiledScript,
  Diagnostic,
  KeptTools,
  PlannedCall,
  ScriptFailure,
  TopLevel,
} from '../../protocol/index.js';
import type { EditLayers } from '../syntax/source-text.js';
import type { ParametersByTool } from '../repair/positional.js';
import type { SourceFacts } from '../analyse/source-facts.js';
import type { RewrittenScript } from '../label-rewrite/rewrite.js';

/** A request to the compiler's thread, which handles one request at a time. */
export type ThreadRequest = CompileRequest | LabelRequest;

export type AnswerTo<Request extends ThreadRequest> = Request extends LabelRequest ? RewrittenScript : CompileAnswer;

/** Rewrites a compiled script for labels; see `script/label-rewrite`. */
interface LabelRequest {
  readonly javascript: string;
  readonly control: boolean;
}

export interface CompileRequest {
  readonly source: string;
  /** The names of the existing tools. Undefined: names are not checked. */
  readonly toolNames: readonly string[] | undefined;
  /** The parameters of the tools that the script calls by position, after an answer that names these tools. */
  readonly parameters?: ParametersByTool | undefined;
  /** Whether the type checker will look at the script. */
  readonly wantsFacts: boolean;
  /** The variables of earlier scripts. Undefined unless the script belongs to a program. */
  readonly keptNames?: readonly string[] | undefined;
  /** The tools that functions of earlier scripts call, by their variables. */
  readonly keptTools?: KeptTools | undefined;
}

/** The thread's answer to a `CompileRequest`: plain data. */
export type CompileAnswer =
  | {
      readonly type: 'compiled';
      readonly javascript: string;
      readonly mappings: string;
      readonly layers: EditLayers;
      readonly diagnostics: readonly Diagnostic[];
      readonly plan: readonly PlannedCall[];
      readonly given: CompiledScript['given'];
      readonly patterns: CompiledScript['patterns'];
      /** The facts, if the request asked for them. */
      readonly facts: SourceFacts | undefined;
      readonly topLevel: TopLevel | undefined;
      /** The tools that the script calls by position; empty if the request had their parameters. */
      readonly byPosition: readonly string[];
    }
  | { readonly type: 'failed'; readonly failure: ScriptFailure; readonly diagnostics: readonly Diagnostic[] };

export type ThreadMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'answer'; readonly answer: CompileAnswer | RewrittenScript }
  /** A fault of the thread itself. `detail` is for the host's log only. */
  | { readonly type: 'broken'; readonly detail: string };

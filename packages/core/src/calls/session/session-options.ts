import type {
  ApprovalRequest,
  CompiledScript,
  ImageSource,
  Outcome,
  SandboxCell,
  SandboxHeap,
  SandboxRuntime,
} from '../../protocol/index.js';
import type { ToolCatalog, WhyMissing } from '../../tools/index.js';
import type { RunContext } from '../../protocol/run-context.js';
import type { Facade, FacadeOptions } from '../facade/index.js';
import type { FollowedScript } from '../flow/followed-script.js';
import type { ResumeState } from './resume-state.js';
import type { ScriptJournal } from './journal.js';
import type { ScriptStart } from './script-start.js';
import type { ScriptTasks } from './script-tasks.js';
import type { EndedOutcome } from './session-outcome.js';
import type { SuspendedScript } from './suspended-script.js';

/** The services of a harness for the sessions of its scripts. */
export interface SessionServices {
  readonly runtime: SandboxRuntime;
  readonly catalog: ToolCatalog;
  readonly whyMissing: WhyMissing;
  /** Undefined: scripts cannot detach tasks. */
  readonly tasks: { of(principal: string | undefined): ScriptTasks } | undefined;
  /** Finds the images from which a captured script is restored. */
  readonly images: ImageSource;
  /**
   * The time in ms for which a script waits only for decisions before it is suspended, while users are asked.
   * Undefined: the script waits without a limit. If no user is asked, the script is suspended at once.
   */
  readonly suspendAfterMs: number | undefined;
}

/** A script's own data, besides the context that it shares with its run. */
export interface SessionScript {
  readonly scriptId: string;
  readonly compiled: CompiledScript;
  readonly cacheHit: boolean;
  /** Tool names as the script writes them. */
  readonly toolNames: readonly string[];
  /** The `context` that the script reads. */
  readonly contextJson: string;
  readonly seed: readonly [number, number, number, number];
  /** The guest's clock at the script's start, in ms since 1970. */
  readonly clockMs: number;
  readonly journal: ScriptJournal;
  /** Undefined unless the script belongs to a program. */
  readonly cell?: SessionCell | undefined;
  /** Undefined: the script starts from its beginning. */
  readonly earlier?: ResumeState | undefined;
}

/** A script of a program. */
export interface SessionCell {
  readonly start: NonNullable<ScriptStart['cell']>;
  readonly sandbox: SandboxCell;
  /** The memory that the script left; set at its end. */
  left: SandboxHeap | undefined;
}

export interface SessionOptions {
  readonly services: SessionServices;
  readonly context: RunContext;
  readonly script: SessionScript;
  /** Creates the script's access to its tools, at its first call. Called again if the script is run a second time. */
  readonly makeFacade: (hooks: SessionFacadeHooks) => Facade;
  /** Reports a fault of Toolscript to the operator. */
  readonly onFault: (detail: string) => void;
}

export interface SessionFacadeHooks extends Pick<FacadeOptions, 'nowMs' | 'listener' | 'earlier' | 'onIntent'> {
  /** The data with which a copy of the script makes the same calls. */
  readonly followed: FollowedScript;
}

/** A script's end, or the stored data of a script that waits for decisions. */
export type SessionEnd = EndedOutcome | SuspendedEnd;

export interface SuspendedEnd extends Omit<Outcome, 'status' | 'value' | 'error' | 'suspension' | 'pendingApprovals'> {
  status: 'suspended';
  pendingApprovals: ApprovalRequest[];
  suspended: SuspendedScript;
}

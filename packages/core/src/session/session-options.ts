import type {
  ApprovalRequest,
  CompiledScript,
  ImageSource,
  Limits,
  Outcome,
  SandboxRuntime,
} from '../protocol/index.js';
import type { CallIntent, Facade, FacadeEvent, SuspendedCalls, ToolCatalog } from '../tools/index.js';
import type { ResumeState } from './resume-state.js';
import type { ScriptJournal } from './journal.js';
import type { ScriptTasks } from './script-tasks.js';
import type { SessionEvent } from './session-events.js';
import type { EndedOutcome } from './session-outcome.js';
import type { SuspendedScript } from './suspended-script.js';

export interface SessionOptions {
  scriptId: string;
  script: CompiledScript;
  cacheHit: boolean;
  runtime: SandboxRuntime;
  limits: Limits;
  /** Creates the script's access to its tools. Called again if the script is run a second time. */
  makeFacade(hooks: SessionFacadeHooks): Facade;
  catalog: ToolCatalog;
  /** Tool names as the script writes them. */
  toolNames: readonly string[];
  /** Undefined: scripts cannot detach tasks. */
  tasks: ScriptTasks | undefined;
  /** The `context` that the script reads. */
  contextJson: string;
  principal: string | undefined;
  seed: readonly [number, number, number, number];
  /** The guest's clock at the script's start, in ms since 1970. */
  clockMs: number;
  journal: ScriptJournal;
  signal: AbortSignal | undefined;
  /**
   * The time in ms for which a script waits only for decisions before it is suspended, while users are asked.
   * Undefined: the script waits without a limit. If no user is asked, the script is suspended at once.
   */
  suspendAfterMs: number | undefined;
  /** Undefined: the script starts from its beginning. */
  earlier: ResumeState | undefined;
  /** Finds the images from which a captured script is restored. */
  images: ImageSource;
  onEvent(event: SessionEvent): void;
}

export interface SessionFacadeHooks {
  /** Milliseconds since the script's start. */
  nowMs: () => number;
  onEvent: (event: FacadeEvent) => void;
  earlier: Pick<SuspendedCalls, 'made' | 'ended'> | undefined;
  onIntent: ((intent: CallIntent) => void | Promise<void>) | undefined;
}

/** A script's end, or the stored data of a script that waits for decisions. */
export type SessionEnd = EndedOutcome | SuspendedEnd;

export interface SuspendedEnd extends Omit<Outcome, 'status' | 'value' | 'error' | 'suspension' | 'pendingApprovals'> {
  status: 'suspended';
  pendingApprovals: ApprovalRequest[];
  suspended: SuspendedScript;
}

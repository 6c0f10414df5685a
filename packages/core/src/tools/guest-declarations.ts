import { CATCHABLE_CODES } from '../protocol/errors.js';

const RETRY =
  '/** If `data.status` is "unknown": makes the call again, under its idempotency key. */ retry?(): Promise<any>; ';

/**
 * The globals of a script that do not depend on its tools, as TypeScript declarations. Together with
 * `declarationsFor(…)` before it, this text declares everything in a script other than the language itself.
 */
export const GUEST_DECLARATIONS = `interface ToolTask { readonly id: string; readonly done: Promise<any>; cancel(): Promise<boolean>; }
interface ToolTaskSummary {
  readonly id: string; readonly tool: string;
  /** \`queued\`: it waits for its turn. \`unknown\`: its process ended before it did. */
  readonly status: 'queued' | 'awaiting_approval' | 'running' | 'completed' | 'failed' | 'cancelled' | 'unknown';
  /** In ms since 1970. */
  readonly startedAtMs: number; readonly durationMs: number;
}
interface ToolTaskReport extends ToolTaskSummary {
  readonly scriptId: string; readonly input: any;
  /** The last 65 536 characters of the tool's output, or of its progress if it has no output. */
  readonly output: string; readonly outputTruncated: boolean;
  readonly result?: any; readonly error?: { readonly code: string; readonly message: string };
}
/** Tasks outlive their script: later scripts find them by their ids. */
interface ToolSpawner {
  exec(name: string, args?: any): ToolTask;
  list(): Promise<ToolTaskSummary[]>;
  /** The current state of a task. */
  read(id: string): Promise<ToolTaskReport>;
  /** Waits for a task to end. */
  wait(id: string): Promise<ToolTaskReport>;
  /** False if the task had ended. */
  cancel(id: string): Promise<boolean>;
}
interface ToolSummary { readonly name: string; readonly description: string; }
interface ToolCatalog {
  /** Finds tools by what they do. */
  search(query: string, options?: { limit?: number }): Promise<ToolSummary[]>;
  /** The declaration of one tool, with the observed shape of its results if it has no output schema. */
  describe(name: string): Promise<string>;
  list(namespace?: string): Promise<ToolSummary[]>;
}
interface ScriptContext {
  readonly conversationId?: string; readonly sessionId?: string; readonly turnId?: string; readonly scriptId: string;
  readonly workingDirectory?: string; readonly provider?: string; readonly model?: string;
  /** As they were when the script started; they do not change while it runs. */
  readonly sandbox: {
    readonly timeoutMs: number; readonly memoryMb: number;
    /** The tool calls that this script may make in all. */
    readonly remainingToolBudget: number;
    readonly maxConcurrentToolCalls: number; readonly mode: string;
  };
  readonly capabilities: { readonly tools: readonly string[] };
  readonly approvals: { readonly required: boolean; readonly lastRequestId?: string };
  readonly telemetry: { emitProgress(message: string, kind?: 'info' | 'warn'): void };
  emitProgress(message: string, kind?: 'info' | 'warn'): void;
  readonly [key: string]: any;
}
declare const tools: Tools;
declare const catalog: ToolCatalog;
declare const context: ScriptContext;
/** Appends to what the user is shown. */
declare function text(value: any): void;
declare function emit(value: any): void;
/** Counts against the script's wall clock. */
declare function sleep(ms: number): Promise<void>;
${CATCHABLE_CODES.map((code) => `declare class ${code} extends Error { readonly code: '${code}'; readonly data?: any; ${code === 'ToolExecutionError' ? RETRY : ''}}\n`).join('')}`;

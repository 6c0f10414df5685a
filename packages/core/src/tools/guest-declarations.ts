import { CATCHABLE_CODES } from '../protocol/errors.js';

/**
 * The globals of a script that do not depend on its tools, as TypeScript declarations. With
 * `declarationsFor(…)` before it, this is all that a script can see beside the language itself.
 */
export const GUEST_DECLARATIONS = `interface ToolTask { readonly id: string; readonly done: Promise<any>; cancel(): void; }
interface ToolSpawner {
  /** Starts a call that outlives the script. */
  exec(name: string, args?: any): ToolTask;
  cancel(id: string): void;
}
interface ToolSummary { readonly name: string; readonly description: string; }
interface ToolCatalog {
  /** Finds tools by what they do. */
  search(query: string, options?: { limit?: number }): Promise<ToolSummary[]>;
  /** The declaration of one tool, and what its results looked like where it does not say what they are. */
  describe(name: string): Promise<string>;
  list(namespace?: string): Promise<ToolSummary[]>;
}
interface ScriptContext {
  readonly conversationId?: string; readonly sessionId?: string; readonly turnId?: string; readonly scriptId: string;
  readonly workingDirectory?: string; readonly provider?: string; readonly model?: string;
  readonly sandbox: {
    readonly timeoutMs: number; readonly memoryMb: number; readonly remainingToolBudget: number;
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
${CATCHABLE_CODES.map((code) => `declare class ${code} extends Error { readonly code: '${code}'; readonly data?: any; }\n`).join('')}`;

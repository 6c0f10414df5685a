import { z } from 'zod';
import {
  LimitChangesSchema,
  LimitsSchema,
  jsonDepthExceeds,
  MAX_JSON_DEPTH,
  ToolscriptUsageError,
  type ApprovalPolicy,
  type HarnessMode,
  type HarnessStore,
  type LimitsInput,
  type SandboxRuntime,
  type StreamEvent,
  type Tool,
} from '../protocol/index.js';
import { readPolicy } from '../approvals/index.js';
import type { Compiler } from '../script/index.js';
import type { AuditLog } from '../run/audit.js';
import type { Durability } from '../durability/store-journal.js';
import type { SuspensionKeys } from '../durability/suspension-envelope.js';
import { didYouMean } from '../text/nearest-names.js';

/** The options of `createHarness`. All except `tools` are optional. */
export interface HarnessOptions {
  tools: readonly Tool[];
  /**
   * The tools for scripts and structured calls: the tools of the pack and the named tools. The name of a namespace
   * (`mcp.github`) stands for all of its tools. Default: all given tools. Tools under `mcp.` also need `mcp: true`, and
   * `http` needs `http: true`.
   */
  expose?: { tools?: readonly string[]; pack?: string; mcp?: boolean; spawn?: boolean; http?: boolean };
  packs?: Record<string, { extends?: string | readonly string[]; tools: readonly string[] }>;
  /** Default 'enabled'. */
  mode?: HarnessMode;
  /**
   * The sandbox runtime. Default 'quickjs'. 'isolated-vm' is V8 in a child process. It is faster in long computations,
   * and needs the package isolated-vm. The harness closes the runtime.
   */
  runtime?: 'quickjs' | 'isolated-vm' | SandboxRuntime;
  /**
   * A compiler from `createCompiler`, whose worker thread starts before the tools are known. The harness closes the
   * compiler.
   */
  compiler?: Compiler;
  limits?: Partial<LimitsInput>;
  /** Decides about calls that need approval. Default: the script is suspended and waits for `resume`. */
  approvals?: ApprovalPolicy;
  /** The time in ms after which a script is suspended if it waits only for users. Default: no limit. */
  suspendAfterMs?: number;
  /**
   * A secret of at least 32 bytes that seals suspensions. The processes that may resume must share it. In a list, the
   * first key seals and every key opens. A function is called when the first script is suspended or resumed. Default: a
   * key of this harness, so that only this harness can resume.
   */
  suspensionKey?: SuspensionKeys | (() => SuspensionKeys);
  /**
   * Stores suspended and interrupted scripts. Default: a suspension exists only in the outcome of `runScript` and in
   * the memory of this harness.
   */
  store?: HarnessStore;
  /**
   * The failures that the stored intent of a call with effects survives: the death of this process ('process', the
   * default), or a power failure too ('power', one disk flush for each call). The intent is stored before the call
   * starts.
   */
  durability?: Durability;
  /**
   * The time in ms that a claim of this process lasts without a renewal. After this time, other processes may claim the
   * script. Default 30 000.
   */
  leaseMs?: number;
  /** Receives every decision, and the start and end of every call with effects. */
  audit?: AuditLog;
  /** See `QuickJsOptions`; `queueWaitMs` is the limit of that name. */
  workers?: {
    size?: number;
    maxScriptsPerWorker?: number;
    queueWaitMs?: number;
    slotsPerWorker?: number;
    maxPoolBytes?: number;
  };
  detect?: { tags?: readonly string[]; fences?: boolean };
  /**
   * The treatment of a script with a type error: the script is rejected before anything runs ('error', the default),
   * the script runs with a warning ('warn'), or types are not checked ('off').
   */
  typecheck?: 'error' | 'warn' | 'off';
  /** Receives every event of every run. */
  onEvent?: (event: StreamEvent) => void;
  /** Receives failures of Toolscript itself, for the operator. A model never sees them. */
  onInternalError?: (detail: string, ids: { scriptId: string }) => void;
}

const whole = z.number().int();

const HarnessOptionsSchema = z.strictObject({
  tools: z.array(
    z.custom<Tool>((value) => typeof value === 'object' && value !== null, 'expected a tool made by defineTool'),
  ),
  expose: z
    .strictObject({
      tools: z.array(z.string()).optional(),
      pack: z.string().optional(),
      mcp: z.boolean().optional(),
      spawn: z.boolean().optional(),
      http: z.boolean().optional(),
    })
    .optional(),
  packs: z
    .record(
      z.string(),
      z.strictObject({ extends: z.union([z.string(), z.array(z.string())]).optional(), tools: z.array(z.string()) }),
    )
    .optional(),
  mode: z.enum(['enabled', 'dry-run', 'disabled']).optional(),
  runtime: z
    .union([
      z.enum(['quickjs', 'isolated-vm']),
      z.custom<SandboxRuntime>(
        (value) => typeof value === 'object' && value !== null && 'run' in value,
        'expected "quickjs", "isolated-vm" or a SandboxRuntime',
      ),
    ])
    .optional(),
  compiler: z
    .custom<Compiler>(
      (value) => typeof value === 'object' && value !== null && 'compile' in value,
      'expected a compiler made by createCompiler',
    )
    .optional(),
  limits: LimitChangesSchema.optional(),
  approvals: z
    .custom<ApprovalPolicy>((value) => value !== null, 'expected "auto", "deny", rules or a function')
    .optional(),
  suspendAfterMs: whole
    .min(0)
    .max(2 ** 31 - 1)
    .optional(),
  suspensionKey: z
    .custom<NonNullable<HarnessOptions['suspensionKey']>>(isKeys, 'expected a secret of at least 32 bytes, or several')
    .optional(),
  store: z
    .custom<HarnessStore>(
      (value) =>
        typeof value === 'object' && value !== null && ['claim', 'journal', 'images'].every((part) => part in value),
      'expected a store with claim, journal and images, such as fileStore(folder) or memoryStore()',
    )
    .optional(),
  durability: z.enum(['process', 'power']).optional(),
  leaseMs: whole.min(1_000).max(86_400_000).optional(),
  audit: z.function().optional(),
  workers: z
    .strictObject({
      size: whole.min(1).max(64).optional(),
      maxScriptsPerWorker: whole.min(1).optional(),
      queueWaitMs: whole.min(0).optional(),
      slotsPerWorker: whole.min(1).max(1024).optional(),
      maxPoolBytes: whole.min(1).optional(),
    })
    .optional(),
  detect: z
    .strictObject({
      tags: z
        .array(z.string().regex(/^[A-Za-z][\w-]*$/u, 'a tag is a letter followed by letters, digits, _ or -'))
        .optional(),
      fences: z.boolean().optional(),
    })
    .optional(),
  typecheck: z.enum(['error', 'warn', 'off']).optional(),
  onEvent: z.function().optional(),
  onInternalError: z.function().optional(),
});

function isKeys(value: unknown): boolean {
  if (typeof value === 'function') return true;
  const keys = Array.isArray(value) ? (value as unknown[]) : [value];
  return (
    keys.length > 0 &&
    keys.every(
      (key) => (typeof key === 'string' ? Buffer.byteLength(key) : key instanceof Uint8Array ? key.length : 0) >= 32,
    )
  );
}

/**
 * Checks the options. Throws a `ToolscriptUsageError` that names the invalid option, and the nearest name for an
 * unknown option.
 */
export function checkHarnessOptions(options: HarnessOptions): void {
  throwIssues(HarnessOptionsSchema.safeParse(options), HarnessOptionsSchema.shape, 'createHarness');
}

const RUN_OPTIONS = ['app', 'principal', 'context', 'limits', 'signal', 'approvals', 'onEvent'];
const RESUME_OPTIONS = ['app', 'principal', 'limits', 'signal', 'approvals', 'onEvent', 'onOutcome', 'force'];
const MODES = ['enabled', 'dry-run', 'disabled'];
const OPTIONS_OF: Readonly<Record<string, readonly string[]>> = {
  runScript: [...RUN_OPTIONS, 'sink', 'mode', 'language', 'threadId', 'turnId', 'item', 'refusal'],
  processText: [
    ...RUN_OPTIONS,
    'mode',
    'continueOnError',
    'scriptSourceDeltas',
    'onOutcome',
    'runId',
    'threadId',
    'turnId',
  ],
  callTool: [...RUN_OPTIONS, 'sink', 'callId', 'scriptId', 'threadId', 'turnId'],
  asTool: RUN_OPTIONS,
  resume: [...RESUME_OPTIONS, 'sink'],
  resumeText: RESUME_OPTIONS,
  recover: [...RESUME_OPTIONS, 'sink', 'item', 'evenEnded'],
  decide: ['principal'],
  replay: ['signal', 'onEvent', 'principal'],
  revert: ['app', 'principal', 'signal', 'approvals', 'limits', 'onEvent'],
};

/**
 * Checks the options of one run. The check must be cheap, because every run makes it. Limits are checked when they are
 * merged.
 */
export function checkRunOptions(run: object, method: string): void {
  const known = OPTIONS_OF[method]!;
  if (typeof run !== 'object' || run === null)
    throw new ToolscriptUsageError(`${method} needs its options as an object.`);
  for (const name in run) {
    if (!known.includes(name))
      throw new ToolscriptUsageError(`${method}: unknown option "${name}".${didYouMean(name, known) || ' Remove it.'}`);
  }
  const { mode, context, approvals, signal } = run as {
    mode?: unknown;
    context?: unknown;
    approvals?: unknown;
    signal?: Partial<AbortSignal>;
  };
  if (signal !== undefined && (typeof signal?.aborted !== 'boolean' || typeof signal.addEventListener !== 'function')) {
    throw new ToolscriptUsageError(`${method}: signal must be an AbortSignal.`);
  }
  for (const name of ['onEvent', 'onOutcome'] as const) {
    const listener = (run as Record<string, unknown>)[name];
    if (listener !== undefined && typeof listener !== 'function')
      throw new ToolscriptUsageError(`${method}: ${name} must be a function.`);
  }
  if (mode !== undefined && !MODES.includes(mode as string))
    throw new ToolscriptUsageError(`${method}: mode must be one of ${MODES.join(', ')}.`);
  if (context !== undefined) assertContext(context, method);
  if (approvals !== undefined) assertApprovals(approvals, method);
}

function assertContext(context: unknown, method: string): void {
  let text: string | undefined;
  try {
    text = JSON.stringify(context);
  } catch {
    text = undefined;
  }
  const isObject = typeof context === 'object' && context !== null && !Array.isArray(context);
  if (!isObject || text === undefined || jsonDepthExceeds(text, MAX_JSON_DEPTH))
    throw new ToolscriptUsageError(
      `${method}: context must be an object of plain JSON data, at most ${MAX_JSON_DEPTH} levels deep.`,
    );
}

function assertApprovals(approvals: unknown, method: string): void {
  try {
    readPolicy(approvals as ApprovalPolicy);
  } catch (error) {
    throw new ToolscriptUsageError(`${method}: approvals: ${(error as Error).message}`);
  }
}

/** Returns the effective limits: the harness's own with the overrides of one run. */
export function resolveLimits(
  base: Partial<LimitsInput> | undefined,
  override: Partial<LimitsInput> | undefined,
): z.infer<typeof LimitsSchema> {
  const result = LimitsSchema.safeParse({ ...base, ...override });
  throwIssues(result, LimitsSchema.shape, 'limits');
  return Object.freeze(result.data!);
}

interface Checked {
  success: boolean;
  error?: z.ZodError;
}

function throwIssues(result: Checked, shape: Record<string, unknown>, where: string): void {
  const issue = result.error?.issues[0];
  if (issue === undefined) return;
  throw new ToolscriptUsageError(`${where}: ${describeIssue(issue, shape)}`);
}

function describeIssue(issue: z.core.$ZodIssue, shape: Record<string, unknown>): string {
  const path = issue.path.map(String).join('.');
  if (issue.code !== 'unrecognized_keys') return path === '' ? issue.message : `${path}: ${issue.message}`;
  const [key = ''] = issue.keys;
  const known = path === '' ? Object.keys(shape) : keysBelow(shape, issue.path);
  return `unknown key "${path === '' ? '' : `${path}.`}${key}".${didYouMean(key, known) || ' Remove it.'}`;
}

function keysBelow(shape: Record<string, unknown>, path: readonly PropertyKey[]): string[] {
  let at: unknown = { shape };
  for (const key of path) {
    const inner = unwrapped(at) as { shape?: Record<string, unknown>; valueType?: unknown } | undefined;
    at = inner?.shape?.[String(key)];
  }
  return Object.keys((unwrapped(at) as { shape?: object } | undefined)?.shape ?? {});
}

function unwrapped(schema: unknown): unknown {
  return schema instanceof z.ZodOptional ? unwrapped(schema.unwrap()) : schema;
}

import { z } from 'zod';
import {
  isScriptId,
  LimitChangesSchema,
  LimitsSchema,
  jsonDepthExceeds,
  MAX_JSON_DEPTH,
  ToolscriptUsageError,
  type ApprovalPolicy,
  type AuditLog,
  type DocumentStore,
  type FlowPolicy,
  type HarnessMode,
  type HarnessStore,
  type LimitsInput,
  type SandboxRuntime,
  type StreamEvent,
  type Tool,
} from '../protocol/index.js';
import { MAX_TIMER_MS } from '../protocol/limited-signal.js';
import { RUN_OPTIONS } from '../protocol/run-context.js';
import { readPolicy } from '../calls/approvals/index.js';
import type { Compiler } from '../script/index.js';
import type { Durability } from '../run/durability/store-journal.js';
import type { SuspensionKeys } from '../run/durability/suspension-envelope.js';
import { didYouMean } from '../text/nearest-names.js';

/** The options of `createHarness`. All except `tools` are optional. */
export interface HarnessOptions {
  tools: readonly Tool[];
  /**
   * The tools for scripts and structured calls: the tools of the pack and the named tools. The name of a namespace
   * (`mcp.github`) stands for all of its tools. Default: all given tools. Tools under `mcp.` also need `mcp: true`, and
   * `http` needs `http: true`.
   */
  expose?:
    | {
        tools?: readonly string[] | undefined;
        pack?: string | undefined;
        mcp?: boolean | undefined;
        spawn?: boolean | undefined;
        http?: boolean | undefined;
      }
    | undefined;
  packs?: Record<string, { extends?: string | readonly string[] | undefined; tools: readonly string[] }> | undefined;
  /** Default 'enabled'. */
  mode?: HarnessMode | undefined;
  /**
   * The sandbox runtime. Default 'quickjs'. 'isolated-vm' is V8 in a child process, which is faster in long
   * computations: `isolatedVm()` of the package @toolscript/isolated-vm, if it is installed. The harness closes the
   * runtime.
   */
  runtime?: 'quickjs' | 'isolated-vm' | SandboxRuntime | undefined;
  /**
   * A compiler from `createCompiler`, whose worker thread starts before the tools are known. The harness closes the
   * compiler.
   */
  compiler?: Compiler | undefined;
  limits?: Partial<LimitsInput> | undefined;
  /** Decides about calls that need approval. Default: the script is suspended and waits for `resume`. */
  approvals?: ApprovalPolicy | undefined;
  /**
   * Decides about the calls with effects, and about all calls of tools that guard arguments, from the sources of their
   * arguments. It can only tighten `approvals`. Default: a guarded argument that untrusted text may have chosen needs
   * the decision of a user.
   */
  flow?: FlowPolicy | undefined;
  /** The time in ms after which a script is suspended if it waits only for users. Default: no limit. */
  suspendAfterMs?: number | undefined;
  /**
   * The time in ms after which a script that still runs answers with the status `running`, and continues:
   * `harness.waitScript` answers its end. Scripts in answers, of agents and of `asTool` always run to their end. Default: `runScript`
   * waits for the end.
   */
  yieldAfterMs?: number | undefined;
  /**
   * A secret of at least 32 bytes that seals suspensions and authenticates journals. The processes that may resume must
   * share it. In a list, the first key seals and every key opens. A function is called when the first script is
   * suspended, resumed or written to a store. Default: a key of this harness, so that only this harness can resume; every
   * program that can write to the store is then trusted, because its journals are not authenticated.
   */
  suspensionKey?: SuspensionKeys | (() => SuspensionKeys) | undefined;
  /**
   * Stores suspended and interrupted scripts. Default: a suspension exists only in the outcome of `runScript` and in
   * the memory of this harness.
   */
  store?: HarnessStore | undefined;
  /**
   * The failures that the stored intent of a call with effects survives: the death of this process ('process', the
   * default), or a power failure too ('power', one disk flush for each call). The intent is stored before the call
   * starts.
   */
  durability?: Durability | undefined;
  /**
   * The time in ms that a claim of this process lasts without a renewal. After this time, other processes may claim the
   * script. Default 30 000.
   */
  leaseMs?: number | undefined;
  /** Receives every decision, and the start and end of every call with effects. */
  audit?: AuditLog | undefined;
  /** See `QuickJsOptions`; `queueWaitMs` is the limit of that name. */
  workers?:
    | {
        size?: number | undefined;
        maxScriptsPerWorker?: number | undefined;
        queueWaitMs?: number | undefined;
        slotsPerWorker?: number | undefined;
        maxPoolBytes?: number | undefined;
      }
    | undefined;
  /** See `DetectorOptions`. */
  detect?:
    | { tags?: readonly string[] | undefined; fences?: boolean | undefined; nonce?: string | undefined }
    | undefined;
  /**
   * The treatment of a script with a type error: the script is rejected before anything runs ('error', the default),
   * the script runs with a warning ('warn'), or types are not checked ('off').
   */
  typecheck?: 'error' | 'warn' | 'off' | undefined;
  /**
   * 'one-program': each script can use the top-level variables, functions and classes of the script from whose heap it
   * starts (`runScript(source, { heap })`), with their types. Default 'separate': scripts share nothing. A `store` must
   * have `heaps`; without a store, heaps are in the memory of this harness.
   */
  scripts?: 'separate' | 'one-program' | undefined;
  /**
   * Keeps the results of tools that are too large for a script, for 30 days: scripts read them in pages. Files of the
   * conversation, or of the principal outside of conversations. Default: such results are lost.
   */
  documents?: Pick<DocumentStore, 'save' | 'read' | 'delete'> | undefined;
  /** Receives every event of every run. */
  onEvent?: ((event: StreamEvent) => void) | undefined;
  /** Receives failures of Toolscript itself, for the operator. A model never sees them. */
  onInternalError?: ((detail: string, ids: { scriptId: string }) => void) | undefined;
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
  flow: z.function().optional(),
  suspendAfterMs: whole
    .min(0)
    .max(2 ** 31 - 1)
    .optional(),
  yieldAfterMs: whole
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
      nonce: z
        .string()
        .regex(/^[\w-]{1,64}$/u, 'a nonce is 1 to 64 letters, digits, _ or -')
        .optional(),
    })
    .optional(),
  typecheck: z.enum(['error', 'warn', 'off']).optional(),
  scripts: z.enum(['separate', 'one-program']).optional(),
  documents: z
    .custom<NonNullable<HarnessOptions['documents']>>(
      (value) =>
        typeof value === 'object' && value !== null && ['save', 'read', 'delete'].every((part) => part in value),
      'expected a store of documents, such as the `documents` of the service’s stores',
    )
    .optional(),
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

const WITHOUT_SINK: readonly string[] = RUN_OPTIONS.filter((name) => name !== 'sink');
const RESUME_OPTIONS = [...WITHOUT_SINK.filter((name) => name !== 'context'), 'onOutcome', 'force'];
const MODES = ['enabled', 'dry-run', 'disabled'];
const OPTIONS_OF: Readonly<Record<string, readonly string[]>> = {
  runScript: [
    ...RUN_OPTIONS,
    'mode',
    'language',
    'threadId',
    'turnId',
    'item',
    'refusal',
    'repeatsReadText',
    'origin',
    'yieldAfterMs',
    'heap',
    'program',
  ],
  processText: [
    ...WITHOUT_SINK,
    'mode',
    'continueOnError',
    'heap',
    'scriptSourceDeltas',
    'onOutcome',
    'origin',
    'runId',
    'threadId',
    'turnId',
  ],
  callTool: [...RUN_OPTIONS, 'callId', 'scriptId', 'threadId', 'turnId', 'origin'],
  asTool: WITHOUT_SINK,
  resume: [...RESUME_OPTIONS, 'sink', 'yieldAfterMs'],
  resumeText: RESUME_OPTIONS,
  recover: [...RESUME_OPTIONS, 'sink', 'item', 'evenEnded', 'yieldAfterMs'],
  decide: ['principal'],
  waitScript: ['forMs', 'principal', 'signal'],
  cancelScript: ['principal'],
  endProgram: ['principal'],
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
    throw new ToolscriptUsageError('ARGUMENT_INVALID', { method, expected: 'its options as an object' });
  for (const name in run) {
    if (!known.includes(name))
      throw new ToolscriptUsageError('UNKNOWN_OPTION', {
        method,
        option: name,
        advice: didYouMean(name, known) || ' Remove it.',
      });
  }
  const { mode, context, approvals, signal } = run as {
    mode?: unknown;
    context?: unknown;
    approvals?: unknown;
    signal?: Partial<AbortSignal> | undefined;
  };
  if (signal !== undefined && (typeof signal?.aborted !== 'boolean' || typeof signal.addEventListener !== 'function')) {
    throw new ToolscriptUsageError('OPTION_INVALID', { option: `${method}: signal`, expected: 'an AbortSignal' });
  }
  for (const name of ['onEvent', 'onOutcome'] as const) {
    const listener = (run as Record<string, unknown>)[name];
    if (listener !== undefined && typeof listener !== 'function')
      throw new ToolscriptUsageError('OPTION_INVALID', { option: `${method}: ${name}`, expected: 'a function' });
  }
  if (mode !== undefined && !MODES.includes(mode as string))
    throw new ToolscriptUsageError('OPTION_INVALID', {
      option: `${method}: mode`,
      expected: `one of ${MODES.join(', ')}`,
    });
  assertHeap((run as { heap?: unknown }).heap, method);
  for (const name of ['yieldAfterMs', 'forMs'] as const)
    assertTime((run as Record<string, unknown>)[name], name, method);
  if (context !== undefined) assertContext(context, method);
  if (approvals !== undefined) assertApprovals(approvals, method);
}

function assertHeap(heap: unknown, method: string): void {
  if (heap === undefined || (typeof heap === 'string' && isScriptId(heap))) return;
  throw new ToolscriptUsageError('OPTION_INVALID', { option: `${method}: heap`, expected: 'the heap of an outcome' });
}

function assertTime(ms: unknown, name: string, method: string): void {
  if (ms === undefined || (Number.isInteger(ms) && (ms as number) >= 0 && (ms as number) <= MAX_TIMER_MS)) return;
  throw new ToolscriptUsageError('OPTION_INVALID', {
    option: `${method}: ${name}`,
    expected: `a whole number of ms from 0 to ${MAX_TIMER_MS}`,
  });
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
    throw new ToolscriptUsageError('OPTION_INVALID', {
      option: `${method}: context`,
      expected: `an object of plain JSON data, at most ${MAX_JSON_DEPTH} levels deep`,
    });
}

function assertApprovals(approvals: unknown, method: string): void {
  try {
    readPolicy(approvals as ApprovalPolicy);
  } catch (error) {
    throw new ToolscriptUsageError('OPTIONS_INVALID', {
      where: `${method}: approvals`,
      problem: (error as Error).message,
    });
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

interface SchemaCheck {
  success: boolean;
  error?: z.ZodError | undefined;
}

function throwIssues(result: SchemaCheck, shape: Record<string, unknown>, where: string): void {
  const issue = result.error?.issues[0];
  if (issue === undefined) return;
  throw new ToolscriptUsageError('OPTIONS_INVALID', { where, problem: describeIssue(issue, shape) });
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
    const inner = withoutOptional(at) as
      | { shape?: Record<string, unknown> | undefined; valueType?: unknown }
      | undefined;
    at = inner?.shape?.[String(key)];
  }
  return Object.keys((withoutOptional(at) as { shape?: object | undefined } | undefined)?.shape ?? {});
}

function withoutOptional(schema: unknown): unknown {
  return schema instanceof z.ZodOptional ? withoutOptional(schema.unwrap()) : schema;
}

import { coreFile } from '../../files/core-files.js';
import {
  DEFAULT_LIMITS,
  scriptFailure,
  SOURCE_CEILING_BYTES,
  ToolscriptUsageError,
  type CompiledScript,
  type CompileResult,
  type Diagnostic,
  type ErrorCode,
  type ScriptFailure,
  type ScriptLanguage,
  type StoredScript,
} from '../../protocol/index.js';
import { codeFrame } from '../../text/code-frame.js';
import { busyFailure } from '../../protocol/busy-failure.js';
import { deepFreeze } from '../../protocol/json.js';
import { sha256 } from '../../text/crypto.js';
import type { ToolParameter } from '../../protocol/tool-parameter.js';
import type { ParametersByTool } from '../repair/positional.js';
import type { CompileAnswer } from './compile-messages.js';
import { CompileThread, type ThreadResult } from './compile-thread.js';
import { ScriptLinks } from './script-links.js';
import { applyLayers, LineIndex, originalOffset } from '../syntax/source-text.js';
import type { KeptVariables, TypeCheck, TypeChecker } from '../check/index.js';
import { encodePositions, PositionTable } from './wrapper.js';

export interface CompilerOptions {
  /** Maximum number of cached results, including failures. Default 1000. */
  readonly cacheSize?: number | undefined;
  /** Maximum time to parse and strip one script, in ms. Default 2000. */
  readonly deadlineMs?: number | undefined;
  /** Called with the detail of each failure of the compiler itself, for the operator. */
  readonly onInternalError?: ((detail: string) => void) | undefined;
}

export interface CompileOptions {
  readonly language: ScriptLanguage;
  /** The maximum size of a source in UTF-8 bytes, at most SOURCE_CEILING_BYTES. */
  readonly maxSourceBytes: number;
  /** The names of the existing tools. Omitted: names are not checked. */
  readonly toolNames?: readonly string[] | undefined;
  /** Checks each script that passed the rules. Omitted: types are not checked. */
  readonly typeChecker?: TypeChecker | undefined;
  /**
   * The parameters of a tool in the order of its schema; undefined if the order decides nothing. With a type checker, a
   * script may then give arguments by position.
   */
  readonly findParameters?: ((tool: string) => readonly ToolParameter[] | undefined) | undefined;
  /** The variables of earlier scripts. Undefined unless the script belongs to a program. */
  readonly kept?: KeptVariables | undefined;
  /** Scripts of several principals take turns. */
  readonly principal?: string | undefined;
  /** Maximum time to wait for a turn, in ms: for the compiler, and for the type checker. Default: the default limit. */
  readonly queueWaitMs?: number | undefined;
}

export interface RewriteOptions extends Pick<CompileOptions, 'principal' | 'queueWaitMs'> {
  /** Whether branches count as sources too. */
  readonly control: boolean;
}

export interface CompilerStats {
  hits: number;
  misses: number;
  /** Number of results in the cache. */
  size: number;
  /** Number of worker threads that were started to replace another one. */
  restarts: number;
}

export interface Compiler {
  /**
   * Repairs, parses, checks, lints, plans and strips a script. Faults of the script are data. The promise rejects only
   * with a ToolscriptUsageError, after `close()`.
   *
   * Failures of the script: ScriptTooLargeError, ScriptSyntaxError, ScriptPolicyError, ScriptTypeError. Failures of the
   * compiler itself: ScriptCancelledError if it was closed, HarnessBusyError, HarnessInternalError. The cache does not
   * store failures of the compiler, a missed deadline, a lack of memory, or the result of a script for which no type
   * checker was available or free.
   */
  compile(source: string, options: CompileOptions): Promise<CompileResult>;
  /**
   * Rewrites a compiled script for labels; see `label-rewrite`. Undefined: the script has syntax that the rewriter does
   * not know, or the compiler has failed or was too busy. Never rejects.
   */
  rewriteForLabels(javascript: string, options: RewriteOptions): Promise<string | undefined>;
  /** Starts the worker thread ahead of time. Resolves when the worker thread has started or could not be started. */
  warm(): Promise<void>;
  /** Ends the worker thread. Compiles that wait end with a ScriptCancelledError. Idempotent. */
  close(): Promise<void>;
  stats(): CompilerStats;
}

/**
 * Creates a compiler. Its worker thread starts with the first call of `compile` or `warm`, and never keeps the process
 * alive when idle.
 */
export function createCompiler(options: CompilerOptions = {}): Compiler {
  return new ThreadedCompiler(options);
}

class ThreadedCompiler implements Compiler {
  readonly #cache: RecentMap<string, CompileResult>;
  readonly #pending = new Map<string, Promise<CompileResult>>();
  readonly #thread: CompileThread;
  readonly #onInternalError: CompilerOptions['onInternalError'];
  #hits = 0;
  #misses = 0;
  #isClosed = false;

  constructor({ cacheSize = 1000, deadlineMs = 2000, onInternalError }: CompilerOptions) {
    this.#onInternalError = onInternalError;
    this.#cache = new RecentMap(cacheSize);
    this.#thread = new CompileThread({ entry: coreFile('script/compile/compile-worker.js'), deadlineMs });
  }

  async compile(source: string, options: CompileOptions): Promise<CompileResult> {
    if (this.#isClosed) throw new ToolscriptUsageError('COMPILER_CLOSED');
    const tooLarge = refuseTooLarge(source, options.maxSourceBytes);
    if (tooLarge !== undefined) return rejectedResult(tooLarge);
    const key = cacheKey(source, options);
    const cached = this.#cache.get(key);
    if (cached !== undefined) return this.#hit(cached);
    // A principal does not wait for the turn of another one, even with the same source.
    // defence: own-turn-for-the-same-source
    const turnKey = `${options.principal ?? ''}\u0000${key}`;
    const pending = this.#pending.get(turnKey);
    if (pending !== undefined) return this.#hit(await pending);
    this.#misses++;
    const work = this.#work(key, source, options);
    this.#pending.set(turnKey, work);
    try {
      return await work;
    } finally {
      this.#pending.delete(turnKey);
    }
  }

  async rewriteForLabels(
    javascript: string,
    { control, principal, queueWaitMs = DEFAULT_LIMITS.queueWaitMs }: RewriteOptions,
  ): Promise<string | undefined> {
    const result = await this.#thread.run({ javascript, control }, { principal, waitMs: queueWaitMs });
    this.#reportFault(result);
    return result.type === 'answer' && result.answer.ok ? result.answer.code : undefined;
  }

  warm(): Promise<void> {
    return this.#thread.warm();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#thread.close();
  }

  stats(): CompilerStats {
    const { size } = this.#cache;
    return { hits: this.#hits, misses: this.#misses, size, restarts: this.#thread.restarts };
  }

  #hit(result: CompileResult): CompileResult {
    this.#hits++;
    return result.cacheHit ? result : { ...result, cacheHit: true };
  }

  async #work(key: string, source: string, options: CompileOptions): Promise<CompileResult> {
    const { toolNames, typeChecker, kept, principal, queueWaitMs = DEFAULT_LIMITS.queueWaitMs } = options;
    const turn = { principal, waitMs: queueWaitMs };
    // The type checker runs in parallel with the compiler's worker thread. This early check is wasted if the script
    // needs repairs, but most scripts need none.
    const early = typeChecker?.check(source, turn, kept);
    const wantsFacts = typeChecker !== undefined;
    const request = { source, toolNames, wantsFacts, keptNames: kept?.names, keptTools: kept?.tools };
    let result = await this.#thread.run(request, turn);
    const parameters = wantsFacts && result.type === 'answer' ? parametersFor(result.answer, options) : undefined;
    if (parameters !== undefined) result = await this.#thread.run({ ...request, parameters }, turn);
    this.#reportFault(result);
    if (result.type !== 'answer') return rejectedResult(threadFailure(result));
    const { answer } = result;
    if (answer.type === 'failed') return this.#cacheResult(key, rejectedResult(answer.failure, answer.diagnostics));
    if (typeChecker === undefined || answer.facts === undefined)
      return this.#cacheResult(key, {
        ok: true,
        script: compiledScript(source, answer, answer.diagnostics),
        cacheHit: false,
      });
    const repaired = applyLayers(source, answer.layers);
    const found = await (repaired === source && early !== undefined ? early : typeChecker.check(repaired, turn, kept));
    const checked = typeChecker.judge(found, repaired, answer.facts, kept);
    const compiled =
      checked.refusal === undefined
        ? withTypes(source, answer, checked)
        : rejectedResult(checked.refusal, answer.diagnostics);
    return checked.isFinal ? this.#cacheResult(key, compiled) : compiled;
  }

  #reportFault(result: ThreadResult<unknown>): void {
    if (result.type === 'broken')
      this.#onInternalError?.(
        `The compiler's worker thread failed, so a script was not compiled. If the thread fails again, report this message with the script: ${result.detail}`,
      );
  }

  #cacheResult(key: string, result: CompileResult): CompileResult {
    this.#cache.set(key, { ...result, cacheHit: true });
    return result;
  }
}

/** The parameters of the tools that the script calls by position; undefined if there are none. */
function parametersFor(answer: CompileAnswer, { findParameters }: CompileOptions): ParametersByTool | undefined {
  if (answer.type === 'failed' || findParameters === undefined) return undefined;
  const found = answer.byPosition.flatMap((tool): [string, readonly ToolParameter[]][] => {
    const parameters = findParameters(tool);
    return parameters === undefined ? [] : [[tool, parameters]];
  });
  return found.length === 0 ? undefined : new Map(found);
}

type CompiledAnswer = Extract<CompileAnswer, { type: 'compiled' }>;

/** Adds the checker's findings to the result; an error among them rejects the script. */
function withTypes(source: string, answer: CompiledAnswer, { findings, hint, isChecked }: TypeCheck): CompileResult {
  const lines = new LineIndex(source);
  const found = findings.map(({ offset, ...finding }): Diagnostic => {
    return { ...finding, ...lines.positionAt(originalOffset(offset, answer.layers)) };
  });
  // The warning `unknown-tool` is dropped, because TypeScript has reported the fault in more detail.
  const others = isChecked ? answer.diagnostics.filter(({ code }) => code !== 'unknown-tool') : answer.diagnostics;
  const diagnostics = [...others, ...found];
  const errors = found.filter(({ severity }) => severity === 'error');
  const bareName = others.find(({ code }) => code === 'bare-tool-name')?.message;
  if (errors.length > 0) return rejectedResult(typeFailure(source, errors, hint ?? bareName), diagnostics);
  return { ok: true, script: compiledScript(source, answer, diagnostics), cacheHit: false };
}

function compiledScript(source: string, answer: CompiledAnswer, diagnostics: readonly Diagnostic[]): CompiledScript {
  const { javascript, mappings, layers, plan, given, patterns, topLevel } = answer;
  return restoreScript({ source, javascript, mappings, layers, diagnostics, plan, given, patterns, topLevel });
}

/** Restores a compiled script from its `stored` form, without compiling or checking anything. */
export function restoreScript(stored: StoredScript): CompiledScript {
  const { source, diagnostics, plan, given, patterns, linked, topLevel } = stored;
  const table = new PositionTable(() => encodePositions(stored));
  const links = linked === undefined ? undefined : new ScriptLinks(stored, linked);
  const javascript = links?.javascript ?? stored.javascript;
  return Object.freeze({
    sha256: sha256(source),
    // defence: code-under-its-own-hash
    codeSha256: sha256(javascript),
    source,
    javascript,
    originalPosition: (line: number, column: number) => table.original(line, column) ?? links?.original(line, column),
    positions: () => table.encoded,
    diagnostics: Object.freeze(diagnostics),
    // defence: frozen-plan
    plan: deepFreeze(plan),
    given: deepFreeze(given),
    linked: linked?.scripts ?? [],
    patterns: Object.freeze(patterns),
    topLevel,
    stored: () => stored,
  });
}

/** The text of a script after its repairs. */
export function repairedText({ source, layers }: Pick<StoredScript, 'source' | 'layers'>): string {
  return applyLayers(source, layers);
}

/** The codes of repairs whose notes describe an effect on the script's run. */
const TRUE_OF_RUNS: ReadonlySet<string> = new Set([
  'repair-export',
  'repair-floating-call',
  'repair-function',
  'repair-last-value',
  'repair-unawaited-call',
]);

/** The result for a rejected script. It omits notes about effects on a run, because the script never runs. */
function rejectedResult(failure: ScriptFailure, diagnostics: readonly Diagnostic[] = []): CompileResult {
  const reported = diagnostics.filter(({ code }) => !TRUE_OF_RUNS.has(code));
  return { ok: false, failure, diagnostics: reported, cacheHit: false };
}

function refuseTooLarge(source: string, maxSourceBytes: number): ScriptFailure | undefined {
  // defence: source-ceiling
  const maxBytes = Math.min(maxSourceBytes, SOURCE_CEILING_BYTES);
  if (source.length * 3 <= maxBytes) return undefined;
  const bytes = Buffer.byteLength(source, 'utf8');
  if (bytes <= maxBytes) return undefined;
  const message = `The script has ${bytes} bytes; at most ${maxBytes} are allowed.`;
  return scriptFailure('ScriptTooLargeError', message, {
    hint: 'Split the work into several scripts, and let tools read large data instead of writing the data into the script.',
    metadata: { bytes, maxBytes },
  });
}

const keyParts = new WeakMap<readonly string[], string>();

function cacheKey(source: string, { language, toolNames, typeChecker, kept }: CompileOptions): string {
  const cell = kept === undefined ? '' : `\u0003${sha256(JSON.stringify(kept))}`;
  const checked = (typeChecker === undefined ? '' : `\u0002${typeChecker.key}`) + cell;
  if (toolNames === undefined) return `${language}${checked}\u0000${source}`;
  let names = keyParts.get(toolNames);
  if (names === undefined) keyParts.set(toolNames, (names = sha256(toolNames.join('\n'))));
  return `${language}${checked}\u0001${names}\u0000${source}`;
}

function threadFailure(result: Exclude<ThreadResult, { type: 'answer' }>): ScriptFailure {
  const { type } = result;
  if (type === 'late') return busyFailure('compiler', result.waitedMs);
  const { code, message, hint } = THREAD_FAILURES[type];
  return scriptFailure(code, message, { phase: 'parsing', hint });
}

type ThreadFailure = Exclude<ThreadResult['type'], 'answer' | 'late'>;

const THREAD_FAILURES: Record<ThreadFailure, { code: ErrorCode; message: string; hint?: string | undefined }> = {
  deadline: {
    code: 'ScriptSyntaxError',
    message: 'The script takes too long to parse.',
    hint: 'Simplify the script: use fewer nested brackets, arrow functions and `<` in one expression.',
  },
  memory: {
    code: 'ScriptSyntaxError',
    message: 'The script takes too much memory to parse.',
    hint: 'Write shorter lines and simpler expressions.',
  },
  busy: {
    code: 'HarnessBusyError',
    message: 'The compiler is busy with scripts that take too long to parse. Send the script again.',
  },
  closed: {
    code: 'ScriptCancelledError',
    message: 'The harness was closed before the script was compiled. Send the script to an open harness.',
  },
  broken: {
    code: 'HarnessInternalError',
    message: 'The compiler failed on this script.',
    hint: 'Send the script again, or simplify it. If the compiler fails again, report this message with the script.',
  },
};

/** Maximum number of characters in the message for type errors. A longer message is cut there and ends with `…`. */
const MAX_MESSAGE = 1_500;

/** The failure for type errors: one line for each error, the frame of the first error, and the hint. */
function typeFailure(source: string, errors: readonly Diagnostic[], hint: string | undefined): ScriptFailure {
  const [first, ...others] = errors as [Diagnostic, ...Diagnostic[]];
  const { line = 1, column = 1 } = first;
  const lines = [
    `${first.code}: ${first.message.replace(/[.]$/u, '')} (line ${line}, column ${column}).`,
    ...others.map(
      (other) => `${other.code}: ${other.message.replace(/[.]$/u, '')} (line ${other.line}, column ${other.column}).`,
    ),
  ];
  const message = lines.join('\n');
  return scriptFailure(
    'ScriptTypeError',
    message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message,
    {
      line,
      column,
      frame: codeFrame(source, line, column),
      hint,
      metadata: { rule: first.code, rules: errors.map(({ code }) => code) },
    },
  );
}

/** A map of at most `capacity` entries. When it is full, it drops the least recently used entry. */
class RecentMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #capacity: number;
  /** The most recently used key. Repeated reads of this key are common and need not move its entry. */
  #latest: Key | undefined;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined || key === this.#latest) return value;
    this.#latest = key;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.#latest = key;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#capacity) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      break;
    }
  }
}

import { scriptFailure } from '../../protocol/errors.js';
import type {
  Diagnostic,
  ErrorCode,
  PlannedCall,
  ScriptFailure,
  SourcePosition,
  TopLevel,
} from '../../protocol/index.js';
import { codeFrame } from '../../text/code-frame.js';
import { findAsyncCallbacks } from '../analyse/async-callbacks.js';
import { findCallbacksWithoutValue, findLostValues } from '../analyse/callback-values.js';
import { findForeignMethods } from '../analyse/foreign-methods.js';
import type { CompileAnswer, CompileRequest } from './compile-messages.js';
import { insertedRanges, LineIndex, originalOffset } from '../syntax/source-text.js';
import type { Finding } from '../analyse/findings.js';
import { withDirectCalls } from './direct-calls.js';
import { findGrowth, type Growth } from './growth.js';
import { findMissingImplementations, findUnknownTools } from '../analyse/known-names.js';
import { findInexactIntegers } from '../analyse/inexact-integers.js';
import { findBadPatterns } from '../analyse/patterns.js';
import { planCalls, type PlannedAt } from '../analyse/plan.js';
import { findViolations } from '../analyse/policy.js';
import { PromiseCalls } from '../analyse/promise-calls.js';
import { findPromiseMisuse } from '../analyse/promise-rules.js';
import { toolsByPosition } from '../repair/positional.js';
import { parseWithRepairs, type RepairedScript } from '../repair/repair.js';
import type { RepairNote } from '../repair/tree-repair.js';
import { sourceFacts } from '../analyse/collect-facts.js';
import { stripTypes, type StripResult } from './strip.js';
import { findToolCalls, type ToolCall } from '../syntax/tool-calls.js';
import { callsOfKept, heldCalls } from '../analyse/kept-tools.js';
import { topLevel } from '../analyse/top-level.js';
import { wrap, wrapCell } from './wrapper.js';

const MAX_DIAGNOSTICS = 50;
/** Maximum number of rejecting findings in the facts for the type checker. A reader needs only a few. */
const MAX_REFUSALS = 20;

/**
 * Maximum number of characters that enums and namespaces may add. Scripts need far less, and a text of this size takes
 * little memory.
 */
const MAX_GROWTH = 4_194_304;

/**
 * Repairs, parses, lints, plans, strips and wraps a script, and rejects banned constructs. The function has no side
 * effects, and runs in the compiler's worker thread.
 */
export function compileSource(request: CompileRequest): CompileAnswer {
  const { source, toolNames, parameters, wantsFacts, keptNames, keptTools } = request;
  const script = parseWithRepairs(source, { toolNames, parameters, keptNames });
  const report = new Report(source, script);
  for (const note of script.notes) report.addRepair(note);
  if (!script.ok) return syntaxFailure(script.problems, report);

  const [badPattern, ...otherPatterns] = findBadPatterns(script.index);
  if (badPattern !== undefined) return syntaxFailure([badPattern, ...otherPatterns], report);
  const violations = findViolations(script.index);
  const [violation] = violations;
  // defence: banned-constructs-are-refused
  if (violation !== undefined) {
    for (const { construct, message, offset } of violations) {
      report.add({ severity: 'error', code: policyCode(construct), message, offset });
    }
    return report.failed('ScriptPolicyError', violation, { construct: violation.construct });
  }

  const calls = findToolCalls(script.index);
  const promises = new PromiseCalls(script.index, calls);
  const misuse = [
    ...findPromiseMisuse(script.index, promises),
    ...findAsyncCallbacks(script.index, promises),
    ...findCallbacksWithoutValue(script.index, toolNames ?? []),
    ...findLostValues(script.index),
    ...findMissingImplementations(script.index),
    ...findInexactIntegers(script.index),
    ...findForeignMethods(script.index, toolNames ?? []),
  ];
  // A construct that no author can intend is an error in a type-checked script, and a warning in any other script.
  const refusals = misuse.filter(({ severity }) => wantsFacts && severity === 'error');
  const findings = misuse
    .filter((finding) => !refusals.includes(finding))
    .map((finding): Finding => ({ ...finding, severity: 'warning' }));
  if (toolNames !== undefined) findings.push(...findUnknownTools(calls, toolNames));
  for (const finding of findings.sort((left, right) => left.offset - right.offset)) report.add(finding);

  const growth = findGrowth(script.index, MAX_GROWTH);
  // defence: transpiler-growth
  if (growth !== undefined) return growthFailure(growth, report);
  const stripped = stripTypes(script.text, script.index);
  if (!stripped.ok) return stripFailure(stripped, report);
  const { planned, declared } = plannedScript(script, calls, { keptNames, keptTools });
  return {
    type: 'compiled',
    ...wrapScript(script, stripped, keptNames, declared),
    layers: script.layers,
    diagnostics: report.diagnostics(),
    byPosition: parameters === undefined ? toolsByPosition(calls) : [],
    plan: planned.map(({ offset, given: _given, ...call }): PlannedCall => {
      return { ...call, ...report.positionAt(offset) };
    }),
    given: planned.map(({ given }) => given ?? null),
    patterns: script.index.patterns.map(({ node }) => ({
      kind: node.type === 'ObjectPattern' ? 'object' : 'array',
      ...report.positionAt(node.start),
    })),
    facts: wantsFacts
      ? sourceFacts(script.index, calls, {
          insertedRanges: insertedRanges(script.layers),
          refusals: refusals.slice(0, MAX_REFUSALS),
        })
      : undefined,
  };
}

/** The plan of a script, and its declarations, if it belongs to a program. */
function plannedScript(
  { index, text }: Extract<RepairedScript, { ok: true }>,
  calls: readonly ToolCall[],
  { keptNames, keptTools = [] }: Pick<CompileRequest, 'keptNames' | 'keptTools'>,
): { planned: readonly PlannedAt[]; declared: TopLevel | undefined } {
  const planned = planCalls(index, calls);
  if (keptNames === undefined) return { planned, declared: undefined };
  const declared = topLevel(index.program, text);
  const own = new Set(declared.variables.map(({ name }) => name));
  return {
    planned: [...planned, ...callsOfKept(index, keptTools, own)],
    declared: { ...declared, held: heldCalls(index, calls, { keptNames, keptTools }, own) },
  };
}

function wrapScript(
  { index }: Extract<RepairedScript, { ok: true }>,
  { code, mappings }: Extract<StripResult, { ok: true }>,
  keptNames: readonly string[] | undefined,
  declared: TopLevel | undefined,
): Pick<Extract<CompileAnswer, { type: 'compiled' }>, 'javascript' | 'mappings' | 'topLevel'> {
  if (keptNames === undefined || declared === undefined)
    return { javascript: wrap(code), mappings, topLevel: undefined };
  const isOwn = (name: string) => (index.declared.get(name)?.length ?? 0) > 0 && !keptNames.includes(name);
  const direct = withDirectCalls({ code, mappings }, isOwn);
  return { javascript: wrapCell(direct.code, declared.variables), mappings: direct.mappings, topLevel: declared };
}

function syntaxFailure(problems: Extract<RepairedScript, { ok: false }>['problems'], report: Report): CompileAnswer {
  for (const problem of problems) {
    const { construct, message, offset } = problem;
    report.add({
      severity: 'error',
      code: construct === undefined ? 'syntax' : policyCode(construct),
      message,
      offset,
    });
  }
  const [first] = problems;
  return report.failed(first.code, first, first.construct === undefined ? {} : { construct: first.construct });
}

function growthFailure({ length, offset }: Growth, report: Report): CompileAnswer {
  const message = `The script could become ${length} characters of JavaScript here; at most ${MAX_GROWTH} are allowed`;
  const hint = 'Build long strings in variables instead of enum members, and give enums and namespaces short names.';
  return report.failed('ScriptTooLargeError', { message, offset, hint }, { length, maxLength: MAX_GROWTH });
}

function stripFailure(stripped: Extract<ReturnType<typeof stripTypes>, { ok: false }>, report: Report): CompileAnswer {
  if (stripped.type === 'refused') return report.failed('ScriptSyntaxError', stripped, {});
  const { length, most } = stripped;
  const message = `The script becomes ${length} characters of JavaScript; at most ${most} are allowed for a script of this size`;
  const hint = 'Use fewer enums and namespaces.';
  return report.failed('ScriptTooLargeError', { message, offset: 0, hint }, { length, maxLength: most });
}

/** The diagnostic code for a banned construct: `import()` → `policy-import`, `import.meta` → `policy-import-meta`. */
function policyCode(construct: string): string {
  return `policy-${construct.toLowerCase().replace(/\W+/g, '-').replace(/-$/, '')}`;
}

interface Problem {
  readonly message: string;
  readonly offset: number;
  readonly hint?: string | undefined;
}

/**
 * Collects the diagnostics of a script, and converts offsets in the repaired text to positions in the model's own
 * source.
 */
class Report {
  readonly #source: string;
  readonly #script: RepairedScript;
  readonly #diagnostics: Diagnostic[] = [];
  #lines: LineIndex | undefined;

  constructor(source: string, script: RepairedScript) {
    this.#source = source;
    this.#script = script;
  }

  positionAt(offset: number): SourcePosition {
    return this.#sourcePosition(originalOffset(offset, this.#script.layers));
  }

  add({ offset, ...finding }: Finding): void {
    this.#push(finding, this.positionAt(offset));
  }

  addRepair({ offset, ...note }: RepairNote): void {
    this.#push(note, this.#sourcePosition(offset));
  }

  diagnostics(): readonly Diagnostic[] {
    return this.#diagnostics;
  }

  failed(code: ErrorCode, { message, offset, hint }: Problem, metadata: ScriptFailure['metadata']): CompileAnswer {
    const { line, column } = this.positionAt(offset);
    const failure = scriptFailure(code, `${message.replace(/[.]$/, '')} (line ${line}, column ${column}).`, {
      line,
      column,
      frame: codeFrame(this.#source, line, column),
      hint,
      metadata,
    });
    return { type: 'failed', failure, diagnostics: this.#diagnostics };
  }

  #sourcePosition(offset: number): SourcePosition {
    this.#lines ??= new LineIndex(this.#source);
    return this.#lines.positionAt(offset);
  }

  #push({ severity, code, message }: Omit<Finding, 'offset'>, position: SourcePosition): void {
    if (this.#diagnostics.length < MAX_DIAGNOSTICS) this.#diagnostics.push({ severity, code, message, ...position });
  }
}

import type { Finding } from '../findings.js';
import type { SourceFacts } from '../source-facts.js';
import type { JudgeArgument } from './call-issues.js';
import type { CheckAnswer, CheckPool } from './check-pool.js';
import { reportTypes, type TypeReport } from './type-report.js';

/** Checks scripts against one set of tools. */
export interface TypeChecker {
  /** Equal keys give equal results; it is part of a compiled script's cache key. */
  readonly key: string;
  /** Runs TypeScript. Never rejects. `source` is the script after repairs. */
  check(source: string): Promise<CheckAnswer>;
  /** The meaning of TypeScript's answer for that script; offsets count in `source`. */
  judge(answer: CheckAnswer, source: string, facts: SourceFacts): TypeCheck;
  /** Starts the process for which the first check would wait. */
  warm(): Promise<void>;
}

export interface TypeCheck extends TypeReport {
  /** True if the script was checked. Otherwise the findings say why not, and the answer is not cached. */
  readonly isChecked: boolean;
}

export interface TypeCheckerOptions {
  readonly pool: CheckPool;
  /** Equal for equal mode and declarations, and unique otherwise. */
  readonly key: string;
  /** `warn`: errors become warnings. */
  readonly mode: 'error' | 'warn';
  /** All declarations that a script can use in addition to the language, in TypeScript. */
  readonly declarations: string;
  readonly toolNames: readonly string[];
  readonly signatureOf: (tool: string) => string | undefined;
  readonly judgeArgument: JudgeArgument;
  /** Whether a tool's result, or a member of it, is certainly an object, or a list of objects. */
  readonly isObject: (tool: string, path: readonly (string | number)[]) => boolean;
}

const HEAD = 'export {};async function __script(){\n';
const TAIL = '\n}\n';

export function createTypeChecker(options: TypeCheckerOptions): TypeChecker {
  const { pool, key, mode, declarations, toolNames, signatureOf, judgeArgument, isObject } = options;
  const toolSet = { name: key, declarations };
  const choices = choicesIn(declarations);
  let warming: Promise<void> | undefined;
  return {
    key,
    warm: () => (warming ??= pool.warm(toolSet)),
    check: (source) => pool.check(toolSet, HEAD + wellFormed(source) + TAIL),
    judge(answer, source, facts) {
      const context = { facts, toolNames, signatureOf, judgeArgument, isObject, choices, prefix: HEAD.length, source };
      // Without TypeScript, only known arguments can be judged.
      const report = reportTypes(answer.type === 'checked' ? answer.diagnostics : [], context);
      const { findings, hint } = mode === 'warn' ? softened(report) : report;
      if (answer.type === 'checked') return { isChecked: true, findings, hint };
      return { isChecked: answer.type === 'slow', findings: [unchecked(answer), ...findings], hint };
    },
  };
}

/** `type State = "open" | "closed";`: TypeScript prints `State` instead of the list. */
function choicesIn(declarations: string): ReadonlyMap<string, string> {
  const literal = String.raw`(?:"(?:[^"\\\n]|\\.)*"|-?[\d.e+]+|true|false|null)`;
  const definitions = declarations.matchAll(
    new RegExp(String.raw`^type (\w+) = (${literal}(?: \| ${literal})*);$`, 'gmu'),
  );
  return new Map([...definitions].map(([, name = '', choices = '']) => [name, choices]));
}

/** Lone surrogates, for which TypeScript never answers, each replaced by a character of the same length. */
function wellFormed(source: string): string {
  return source.replace(/\p{Surrogate}/gu, '\ufffd');
}

function unchecked(answer: { type: 'slow' } | { type: 'unavailable'; detail: string }): Finding {
  const message =
    answer.type === 'slow'
      ? 'The script was not type-checked: checking it takes too long.'
      : 'The script was not type-checked: the checker is not available.';
  return { severity: 'info', code: `typecheck-${answer.type}`, message, offset: 0 };
}

function softened({ findings }: TypeReport): TypeReport {
  return {
    findings: findings.map((finding) => (finding.severity === 'error' ? { ...finding, severity: 'warning' } : finding)),
    hint: undefined,
  };
}

import type { Finding } from '../findings.js';
import type { SourceFacts } from '../source-facts.js';
import type { CheckAnswer, CheckPool } from './check-pool.js';
import { reportTypes, type TypeReport } from './type-report.js';

/** Checks scripts against one set of tools. */
export interface TypeChecker {
  /** The same key, the same answers: part of what a compiled script is cached by. */
  readonly key: string;
  /** Asks TypeScript. Never rejects. `source` is the script after repairs. */
  check(source: string): Promise<CheckAnswer>;
  /** What its answer means for that script; offsets count in `source`. */
  judge(answer: CheckAnswer, source: string, facts: SourceFacts): TypeCheck;
  /** Starts what the first check would wait for. */
  warm(): Promise<void>;
}

export interface TypeCheck extends TypeReport {
  /** It was checked; else the findings say why not, and the answer is not worth keeping. */
  readonly isChecked: boolean;
}

export interface TypeCheckerOptions {
  readonly pool: CheckPool;
  /** The same for the same mode and declarations, and for no other. */
  readonly key: string;
  /** `warn`: what would be refused is told instead. */
  readonly mode: 'error' | 'warn';
  /** Everything a script can see beside the language, as TypeScript declarations. */
  readonly declarations: string;
  readonly toolNames: readonly string[];
  readonly signatureOf: (tool: string) => string | undefined;
}

const HEAD = 'export {};async function __script(){\n';
const TAIL = '\n}\n';

export function createTypeChecker(options: TypeCheckerOptions): TypeChecker {
  const { pool, key, mode, declarations, toolNames, signatureOf } = options;
  const toolSet = { name: key, declarations };
  let warming: Promise<void> | undefined;
  return {
    key,
    warm: () => (warming ??= pool.warm(toolSet)),
    check: (source) => pool.check(toolSet, HEAD + wellFormed(source) + TAIL),
    judge(answer, source, facts) {
      if (answer.type !== 'checked') return unchecked(answer);
      const context = { facts, toolNames, signatureOf, prefix: HEAD.length, source };
      const report = reportTypes(answer.diagnostics, context);
      return { isChecked: true, ...(mode === 'warn' ? softened(report) : report) };
    },
  };
}

/** Halves of surrogate pairs, which TypeScript never answers to, each replaced by a character of the same length. */
function wellFormed(source: string): string {
  return source.replace(/\p{Surrogate}/gu, '\ufffd');
}

function unchecked(answer: { type: 'slow' } | { type: 'unavailable'; detail: string }): TypeCheck {
  const message =
    answer.type === 'slow'
      ? 'The script was not type-checked: checking it takes too long.'
      : 'The script was not type-checked: the checker is not available.';
  const finding: Finding = { severity: 'info', code: `typecheck-${answer.type}`, message, offset: 0 };
  return { isChecked: answer.type === 'slow', findings: [finding], hint: undefined };
}

function softened({ findings }: TypeReport): TypeReport {
  return {
    findings: findings.map((finding) => (finding.severity === 'error' ? { ...finding, severity: 'warning' } : finding)),
    hint: undefined,
  };
}

import { busyFailure } from '../../protocol/busy-failure.js';
import { scriptFailure, type ScriptFailure } from '../../protocol/errors.js';
import type { QueueTurn } from '../../protocol/fair-queue.js';
import { showHidden } from '../../protocol/invisible.js';
import { identifierName } from '../../text/identifier-name.js';
import { missingNameAdvice } from '../../text/missing-names.js';
import { nearestNames } from '../../text/nearest-names.js';
import { NULL_AS_ABSENT } from '../../text/null-as-absent.js';
import type { Finding } from '../analyse/findings.js';
import type { ResultText } from '../analyse/result-texts.js';
import type { CallFact, SourceFacts } from '../analyse/source-facts.js';
import { judgeCalls, type CallIssue, type JudgeArgument } from './call-issues.js';
import type { KeptTools, TopLevel } from '../../protocol/index.js';
import type { CheckAnswer, CheckPool } from './check-pool.js';
import type { NativeDiagnostic, TypePlace } from './checker-process.js';
import { DiagnosticPolicy } from './diagnostic-policy.js';
import { diagnosticSentences, withChoices } from './diagnostic-text.js';

/** Checks scripts against one set of tools. */
export interface TypeChecker {
  /** Checkers with equal keys give equal results. The key is part of a compiled script's cache key. */
  readonly key: string;
  /**
   * Runs TypeScript. Never rejects. `source` is the script after repairs. Checks of several principals take turns.
   * A script that disagrees with `observed` gets a warning.
   */
  check(source: string, turn: QueueTurn, kept?: KeptVariables, observed?: ObservedTools): Promise<CheckAnswer>;
  /** Judges TypeScript's answer about the script. Offsets refer to `source`. */
  judge(
    answer: CheckAnswer,
    source: string,
    facts: SourceFacts,
    kept?: KeptVariables,
    observed?: ObservedTools,
  ): TypeCheck;
  /**
   * The types of a script's variables at its end, as TypeScript prints them, and of the value that it returned;
   * undefined for a variable without a known type. Never rejects.
   */
  printTypes(
    source: string,
    declared: TopLevel,
    turn: QueueTurn,
    options: PrintOptions,
  ): Promise<readonly PrintedType[]>;
  /** Starts the process for which the first check would otherwise wait. */
  warm(): Promise<void>;
}

/** The variables of earlier scripts that a script can use. */
export interface KeptVariables {
  readonly names: readonly string[];
  /** The tools that the functions in variables may call, by the names of the variables. */
  readonly tools?: KeptTools | undefined;
  /** Declarations before and after the script, in TypeScript. */
  readonly before: string;
  readonly after: string;
}

interface PrintOptions {
  readonly kept: KeptVariables;
  /** The name of the value that the script returned, if its type is wanted. */
  readonly value: string | undefined;
}

export type PrintedType = string | undefined;

/** The tools whose results are observed. */
export interface ObservedTools {
  /** Their type, to be intersected with `Tools`. */
  readonly type: string;
  /** The type of each tool's results, by the name of the tool. */
  readonly results: ReadonlyMap<string, string>;
}

export interface TypeCheck extends TypeReport {
  /** Whether TypeScript checked the script. Otherwise a finding, or the refusal, contains the reason. */
  readonly isChecked: boolean;
  /** Whether the result may be cached: false if no process could run the check, or was free for it. */
  readonly isFinal: boolean;
  /** The failure of a script whose types could not be checked, although there is a checker. */
  readonly refusal?: ScriptFailure | undefined;
}

export interface TypeCheckerOptions {
  readonly pool: CheckPool;
  /** A text that is equal for equal modes and declarations, and different for all others. */
  readonly key: string;
  /** `warn`: errors become warnings. */
  readonly mode: 'error' | 'warn';
  /** All declarations that a script can use in addition to the language, in TypeScript. */
  readonly declarations: string;
  readonly toolNames: readonly string[];
  /** A tool's declaration on one line. `observed`: the type of its results, if it declares none. */
  readonly findSignature: (tool: string, observed?: string) => string | undefined;
  readonly judgeArgument: JudgeArgument;
  /** Whether a tool's result, or a member of it, is certainly an object, or a list of objects. */
  readonly isObject: (tool: string, path: readonly (string | number)[]) => boolean;
}

const BEFORE_TOOLS = 'export {};';
const SCRIPT_HEAD = 'async function __script(){\n';
const SCRIPT_TAIL = '\n}\n';
const RESULT_NAME = '__result';
const RESULT = `const ${RESULT_NAME}=0 as any as Awaited<ReturnType<typeof __script>>;`;
const NOTHING_KEPT: KeptVariables = { names: [], before: '', after: '' };

export function createTypeChecker(options: TypeCheckerOptions): TypeChecker {
  const { pool, key, mode, declarations, toolNames, findSignature, judgeArgument, isObject } = options;
  const toolSet = { name: key, declarations };
  const choices = choicesIn(declarations);
  let warming: Promise<void> | undefined;
  return {
    key,
    warm: () => (warming ??= pool.warm(toolSet)),
    async check(source, turn, { before, after } = NOTHING_KEPT, observedTools) {
      const afterTools = before + SCRIPT_HEAD;
      const text = withoutLoneSurrogates(source) + SCRIPT_TAIL + after;
      const head = BEFORE_TOOLS + afterTools;
      const answer = await pool.check(toolSet, head + text, turn);
      if (observedTools === undefined || answer.type !== 'checked') return answer;
      // The first signature of a tool whose result is observed has the observed type, before the declared `any`.
      const declared = `declare const tools:${observedTools.type}&Tools;`;
      const again = await pool.check(toolSet, BEFORE_TOOLS + declared + afterTools + text, turn);
      if (again.type !== 'checked') return answer;
      const inText = (at: number) => Math.max(head.length, at - declared.length);
      const observed = again.diagnostics.map((one) => ({ ...one, pos: inText(one.pos), end: inText(one.end) }));
      return { ...answer, observed };
    },
    judge(given, source, facts, { before } = NOTHING_KEPT, observedTools) {
      const prefix = BEFORE_TOOLS.length + before.length + SCRIPT_HEAD.length;
      const answer = before === '' ? given : withoutEarlier(given, prefix);
      const context = {
        facts,
        toolNames,
        findSignature: (tool: string) => findSignature(tool, observedTools?.results.get(tool)),
        judgeArgument,
        isObject,
        choices,
        prefix,
        source,
      };
      // Without TypeScript's answer, only known arguments can be judged.
      const report = reportTypes(answer.type === 'checked' ? answer.diagnostics : [], context);
      const { findings, hint } = mode === 'warn' ? softenedReport(report) : report;
      if (answer.type === 'checked') {
        const warnings = observedWarnings(answer.observed ?? [], report, context);
        return { isChecked: true, isFinal: true, findings: [...findings, ...warnings], hint };
      }
      const unchecked = { isChecked: false, isFinal: answer.type === 'slow', hint };
      // defence: never-unchecked
      if (mode === 'error' && answer.type !== 'unavailable')
        return { ...unchecked, findings, refusal: uncheckedFailure(answer) };
      return { ...unchecked, findings: [uncheckedFinding(answer), ...findings] };
    },
    printTypes(source, declared, turn, options) {
      const { text, places } = printedText(withoutLoneSurrogates(source), declared, options);
      return pool.printTypes(toolSet, text, places, turn);
    },
  };
}

/** A script that uses each of its variables at its end, and the places of their names. */
function printedText(
  source: string,
  { variables, end }: TopLevel,
  { kept: { before, after }, value }: PrintOptions,
): { text: string; places: TypePlace[] } {
  const head = BEFORE_TOOLS + before + SCRIPT_HEAD;
  const opening = '\n;[';
  const uses = `${opening}${variables.map(({ name }) => name).join()}];`;
  const script = head + source.slice(0, end) + uses + source.slice(end) + SCRIPT_TAIL;
  let atUse = head.length + end + opening.length;
  const places = variables.map(({ name, offset, kind }): TypePlace => {
    const atDeclaration = head.length + offset + (offset < end ? 0 : uses.length);
    const place = { atUse, atDeclaration, isConstant: kind === 'constant' };
    atUse += name.length + 1;
    return place;
  });
  const atResult = script.length + RESULT.indexOf(RESULT_NAME);
  if (value !== undefined) places.push({ atUse: atResult, atDeclaration: atResult, isConstant: true });
  return { text: script + RESULT + after, places };
}

/** Removes diagnostics of the declarations before a script: the script cannot change them. */
function withoutEarlier(answer: CheckAnswer, from: number): CheckAnswer {
  if (answer.type !== 'checked') return answer;
  const inScript = ({ pos }: NativeDiagnostic) => pos >= from;
  return { ...answer, diagnostics: answer.diagnostics.filter(inScript), observed: answer.observed?.filter(inScript) };
}

/**
 * The named types that are unions of literals, as in `type State = "open" | "closed";`: TypeScript prints `State`
 * instead of the union.
 */
function choicesIn(declarations: string): ReadonlyMap<string, string> {
  const literal = String.raw`(?:"(?:[^"\\\n]|\\.)*"|-?[\d.e+]+|true|false|null)`;
  const definitions = declarations.matchAll(
    new RegExp(String.raw`^type (\w+) = (${literal}(?: \| ${literal})*);$`, 'gmu'),
  );
  return new Map([...definitions].map(([, name = '', choices = '']) => [name, choices]));
}

/**
 * Replaces each lone surrogate with a character of the same length, because TypeScript never answers for a text with
 * lone surrogates.
 */
function withoutLoneSurrogates(source: string): string {
  return source.replace(/\p{Surrogate}/gu, '\ufffd');
}

type Unchecked = Exclude<CheckAnswer['type'], 'checked'>;

const UNCHECKED: Record<Unchecked, string> = {
  slow: 'its types take too long to check. Simplify its types',
  busy: 'the type checker was busy',
  unavailable: 'no type checker is available. The log of the host contains the reason',
};

function uncheckedFinding({ type }: { type: Unchecked }): Finding {
  const message = `The script was not type-checked, because ${UNCHECKED[type]}.`;
  return { severity: 'info', code: `typecheck-${type}`, message, offset: 0 };
}

function uncheckedFailure(answer: Extract<CheckAnswer, { type: 'slow' | 'busy' }>): ScriptFailure {
  if (answer.type === 'busy') return busyFailure('type checker', answer.waitedMs);
  return scriptFailure('ScriptTypeError', 'The types of this script take too long to check, so nothing has run.', {
    hint: 'Use simpler types, without recursion and large unions, or split the script into shorter ones.',
    metadata: { rule: 'typecheck-slow', rules: ['typecheck-slow'] },
  });
}

function softenedReport({ findings }: TypeReport): TypeReport {
  return {
    findings: findings.map((finding) => (finding.severity === 'error' ? { ...finding, severity: 'warning' } : finding)),
    hint: undefined,
  };
}

/**
 * The errors that a script would have if results always looked like those of earlier calls. Earlier
 * results prove nothing, so each error is a warning.
 */
function observedWarnings(
  diagnostics: readonly NativeDiagnostic[],
  { findings }: TypeReport,
  context: ReportContext,
): readonly Finding[] {
  const reported = new Set(findings.map(({ offset }) => offset));
  return reportTypes(diagnostics, context)
    .findings.filter(
      ({ severity, code, offset }) => severity === 'error' && code.startsWith('ts') && !reported.has(offset),
    )
    .map(({ message, offset }) => ({
      // defence: observed-types-refuse-nothing
      severity: 'warning',
      code: 'observed-type',
      message: `${message} Earlier results of the tool looked like this. It is observed, not promised.`,
      offset,
    }));
}

/** The checker's report about a script: at most five findings, errors first, and a hint. */
interface TypeReport {
  readonly findings: readonly Finding[];
  /**
   * A hint about the first error: the replacement of a missing global, or the declaration of the wrongly called tool.
   */
  readonly hint: string | undefined;
}

interface ReportContext {
  readonly facts: SourceFacts;
  /** Names of the tools, as scripts write them. */
  readonly toolNames: readonly string[];
  /** A tool's declaration on one line. */
  readonly findSignature: (tool: string) => string | undefined;
  readonly judgeArgument: JudgeArgument;
  /** Whether a tool's result, or a member of it, is certainly an object, or a list of objects. */
  readonly isObject: (tool: string, path: readonly (string | number)[]) => boolean;
  /** Named types of the declarations that are unions of literals, each with its written form. */
  readonly choices: ReadonlyMap<string, string>;
  /** The script after repairs, and the number of characters before the script in the checked text. */
  readonly source: string;
  readonly prefix: number;
}

const MAX_FINDINGS = 5;
const MAX_SENTENCES = 3;
const MAX_SENTENCE = 300;
const MAX_SIGNATURE = 600;
const MAX_NAMES = 5;
const MAX_PATH = 500;

/** A diagnostic to report. */
interface WeighedDiagnostic {
  readonly code: string;
  readonly severity: Finding['severity'];
  readonly offset: number;
  readonly call: CallFact | undefined;
  readonly order: number;
  readonly message: () => string;
  readonly hint: () => string | undefined;
  /** The checker reports only the first of several diagnostics with equal keys and severities. */
  readonly key: string;
}

/**
 * Reports the faults of a script. `diagnostics`: TypeScript's diagnostics; empty if TypeScript did not check the
 * script.
 */
function reportTypes(diagnostics: readonly NativeDiagnostic[], context: ReportContext): TypeReport {
  const placed = diagnostics.map((diagnostic) => {
    const inSource = (at: number) => Math.min(Math.max(0, at - context.prefix), context.source.length);
    return { diagnostic, code: diagnostic.code, offset: inSource(diagnostic.pos), end: inSource(diagnostic.end) };
  });
  const judged = judgeCalls(context.facts, context.judgeArgument);
  const policy = new DiagnosticPolicy(context.facts, placed, judged, context.choices);
  const diagnosed = placed.flatMap((placedDiagnostic) => {
    const verdict = policy.verdict(placedDiagnostic.diagnostic, placedDiagnostic.offset, placedDiagnostic.end);
    return verdict === 'off' ? [] : [weigh(placedDiagnostic, verdict, policy, context)];
  });
  const weighed = [
    ...diagnosed,
    ...unreportedIssues(judged.issues, diagnosed).map((issue) => refusal(issue, context)),
    ...context.facts.refusals.map((finding) => mistake(finding, 'error')),
    ...judged.notes.map((note) => mistake({ code: NULL_AS_ABSENT, ...note }, 'info')),
    ...context.facts.resultTexts.filter(({ tool, path }) => context.isObject(tool, path)).map(misusedObject),
  ];
  const errors = weighed
    .filter(({ severity }) => severity === 'error')
    .toSorted((left, right) => left.order - right.order);
  const others = (wanted: WeighedDiagnostic['severity']) =>
    withoutRepeats(weighed.filter(({ severity }) => severity === wanted));
  const chosen = [...withoutRepeats(errors), ...others('warning'), ...others('info')].slice(0, MAX_FINDINGS);
  const findings = chosen.map(({ severity, code, offset, message }) => ({
    severity,
    code,
    // Names and choices come from schemas, which may contain invisible characters.
    message: showHidden(message()),
    offset,
  }));
  return { findings, hint: errors[0]?.hint() };
}

interface PlacedDiagnostic {
  readonly diagnostic: NativeDiagnostic;
  readonly offset: number;
  readonly end: number;
}

function weigh(
  placed: PlacedDiagnostic,
  severity: 'error' | 'warning',
  policy: DiagnosticPolicy,
  context: ReportContext,
): WeighedDiagnostic {
  const { diagnostic, offset, end } = placed;
  return {
    code: `ts${diagnostic.code}`,
    severity,
    offset,
    call: policy.callAt(offset, end),
    order: offset,
    message: () => diagnosticSentence(placed, policy, context),
    hint: () => hintFor(diagnostic, policy.callAt(offset, end), context),
    key: `${diagnostic.code} ${diagnostic.text}`,
  };
}

function refusal({ call, offset, isMissing, message }: CallIssue, context: ReportContext): WeighedDiagnostic {
  return {
    code: 'tool-arguments',
    severity: 'error',
    offset,
    call,
    // A missing member is reported after a wrong name, because the wrong name may explain the missing member.
    order: isMissing ? call.end : offset,
    message: () => shortText(message, MAX_SENTENCE),
    hint: () => declarationHint(call.tool, context),
    key: message,
  };
}

/**
 * Reports an object that becomes text or a number without its data. Such a value may be sent or stored, but does no harm
 * if it is only logged.
 */
function misusedObject({ tool, path, offset, isLogged, becomes }: ResultText): WeighedDiagnostic {
  const members = path.map((part) => (typeof part === 'number' ? '[…]' : `.${part}`)).join('');
  const what =
    members === ''
      ? `The result of tools.${tool}`
      : `\`${members.replace(/^\./u, '')}\` of the result of tools.${tool}`;
  const severity = isLogged ? 'warning' : 'error';
  if (becomes === 'number') {
    const message = `${what} is an object, or a list of objects, and becomes NaN in arithmetic. Use one of its members.`;
    return mistake({ code: 'object-in-arithmetic', message, offset }, severity);
  }
  const message = `${what} is an object, or a list of objects, and becomes "[object Object]" in a string. Use one of its members, or JSON.stringify.`;
  return mistake({ code: 'object-in-text', message, offset }, severity);
}

function mistake(
  { code, message, offset }: Omit<Finding, 'severity'>,
  severity: WeighedDiagnostic['severity'],
): WeighedDiagnostic {
  return {
    code,
    severity,
    offset,
    call: undefined,
    order: offset,
    message: () => message,
    hint: () => undefined,
    key: `${code} ${message}`,
  };
}

/**
 * Issues that TypeScript has not reported. A missing key is not reported next to an unknown one: the unknown key is
 * usually the missing one under a wrong name.
 */
function unreportedIssues(issues: readonly CallIssue[], diagnosed: readonly WeighedDiagnostic[]): readonly CallIssue[] {
  const errors = diagnosed.filter(({ severity }) => severity === 'error');
  const isMisnamed = (call: CallFact) =>
    issues.some((issue) => issue.call === call && issue.isUnknownKey) ||
    errors.some((error) => error.call === call && UNKNOWN_KEY.has(error.code));
  return issues.filter(({ call, offset, name, isMissing }) => {
    const reported = errors.filter((error) => error.call === call);
    if (reported.some((error) => error.offset === offset || error.key.includes(`'${name}'`))) return false;
    return !isMissing || !isMisnamed(call);
  });
}

const UNKNOWN_KEY = new Set(['ts2353', 'ts2561']);

/** Removes each diagnostic whose key an earlier diagnostic has. */
function withoutRepeats(findings: readonly WeighedDiagnostic[]): WeighedDiagnostic[] {
  const keys = new Set<string>();
  return findings.filter(({ key }) => !keys.has(key) && keys.add(key));
}

/** TypeScript's own sentence, with its further reasons and the names of similar tools. */
function diagnosticSentence(
  { diagnostic, offset, end }: PlacedDiagnostic,
  policy: DiagnosticPolicy,
  context: ReportContext,
): string {
  if (policy.isMissingTool(diagnostic, offset)) return missingTool(diagnostic, offset, context);
  if (policy.isCalledNamespace(diagnostic, offset)) return calledNamespace(offset, context);
  if (policy.isAbsentNamespace(diagnostic, offset, end))
    return `${context.source.slice(offset, end)} is not available, because the host does not provide it. Use another tool.`;
  const sentences = diagnosticSentences(diagnostic)
    .slice(0, MAX_SENTENCES)
    .map((sentence) => shortText(withChoices(withoutAdviceOnSetUp(sentence.trim()), context.choices), MAX_SENTENCE));
  const message = sentences.join(' ');
  if (/ on type 'Promise</u.test(diagnostic.text)) return `${message} The value is a promise: use \`await\` first.`;
  return message;
}

/** Returns the sentence about a missing tool. TypeScript's own sentence prints the type of the whole namespace. */
function missingTool(diagnostic: NativeDiagnostic, offset: number, { source, toolNames }: ReportContext): string {
  const name = /^Property '([^']+)'/u.exec(diagnostic.text)?.[1] ?? '';
  const namespace = namespaceBefore(offset, source);
  const wanted = namespace === '' ? name : `${namespace}.${name}`;
  const inNamespace = toolNames.filter((known) => known.startsWith(`${namespace}.`));
  const nearest = nearestNames(wanted, namespace === '' ? toolNames : inNamespace);
  const message = `Property '${name}' does not exist on type 'Tools'${namespace === '' ? '' : ` in tools.${namespace}`}.`;
  return nearest.length === 0
    ? message
    : `${message} Did you mean ${nearest.map((near) => `tools.${identifierName(near)}`).join(', ')}?`;
}

function calledNamespace(offset: number, { source, toolNames }: ReportContext): string {
  const name = /^[\w$-]+/u.exec(source.slice(offset))?.[0] ?? '';
  const outer = namespaceBefore(offset, source);
  const path = outer === '' ? name : `${outer}.${name}`;
  const members = toolNames.filter((tool) => tool.startsWith(`${path}.`)).slice(0, MAX_NAMES);
  return `tools.${path} is a namespace, not a tool. It contains ${members.map((tool) => `tools.${tool}`).join(', ')}.`;
}

/** The names between `tools` and the name that begins at the offset. */
function namespaceBefore(offset: number, source: string): string {
  const path =
    /tools((?:\s*!?\.\s*[\w$]+)*)\s*(?:[!?]?\.|\[)\s*['"]?$/u.exec(
      source.slice(Math.max(0, offset - MAX_PATH), offset),
    )?.[1] ?? '';
  return path.replace(/[\s!]/gu, '').slice(1);
}

function hintFor(diagnostic: NativeDiagnostic, call: CallFact | undefined, context: ReportContext): string | undefined {
  const missing = /^Cannot find name '([^']+)'/u.exec(diagnostic.text)?.[1];
  if (missing !== undefined) return missingNameAdvice(missing);
  return declarationHint(call?.tool ?? '', context);
}

function declarationHint(tool: string, { findSignature, choices }: ReportContext): string | undefined {
  const signature = tool === '' ? undefined : findSignature(tool);
  if (signature === undefined) return undefined;
  return showHidden(`The tool is declared as: ${shortText(withChoices(signature, choices), MAX_SIGNATURE)}`);
}

/** Removes TypeScript's suggestions to install packages and to change options, because a script can do neither. */
function withoutAdviceOnSetUp(sentence: string): string {
  return sentence.replace(/ (Do you need to (install|change)|Try changing|Try `npm).*$/su, '');
}

function shortText(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

import { MAX_JSON_DEPTH, measureJson, type JsonValue } from '../../protocol/json.js';
import type { Diagnostic } from '../../protocol/script.js';
import type { Tool, ToolCallContext } from '../../protocol/tools.js';
import { NULL_AS_ABSENT, nullAsAbsent } from '../../text/null-as-absent.js';
import type { CallRecord } from './call-record.js';
import type { FacadeCall, FacadeOptions } from './facade-types.js';
import { namesPrototype, parseJson, PROTOTYPE_MEMBER } from '../../schema/json-text.js';
import { bytesProblem } from '../../schema/base64-members.js';
import { issueLines } from '../../schema/validation-issues.js';
import { convertResult, RESULT_CONVERTED, ResultLook, withoutCycles } from './plain-result.js';

type CheckedArguments =
  /** `absent`: paths of members that are null and count as omitted. */
  | { ok: true; value: JsonValue; json: string; absent: readonly string[] }
  | { ok: false; message: string; sent: JsonValue; data?: unknown };

export interface ArgumentLimits {
  /** Maximum bytes of JSON. */
  readonly maxBytes: number;
  /** Maximum number of values at all levels together, plus member names. */
  readonly maxValues: number;
}

/** Validates the arguments and serialises the effective input, once. `sent`: the recorded form of invalid arguments. */
export function checkArguments(
  tool: Tool,
  { argsJson, argsProblem, argsBytes }: FacadeCall,
  { maxBytes, maxValues }: ArgumentLimits,
): CheckedArguments {
  const wrong = (reason: string): CheckedArguments => ({
    ok: false,
    message: `The arguments of ${tool.name} are wrong: ${reason}.`,
    sent: null,
  });
  const problem = argsProblem ?? (argsBytes && bytesProblem(tool.inputSchema, argsBytes));
  if (problem !== undefined) return wrong(problem);
  const bytes = Buffer.byteLength(argsJson);
  // defence: argument-bytes-are-capped
  if (bytes > maxBytes)
    return wrong(`they are ${bytes} bytes of JSON, and ${maxBytes} are allowed; send less in one call`);
  const parsed = argsJson === '' ? { ok: true as const, value: {} } : parseJson(argsJson, maxValues);
  if (!parsed.ok) return wrong(parsed.reason);
  const validated = tool.validateInput(parsed.value);
  if (!validated.ok) {
    const message = `The arguments of ${tool.name} are wrong:\n${issueLines(validated.issues)}`;
    return { ok: false, message, sent: parsed.value, data: { issues: validated.issues.slice(0, 20) } };
  }
  const { value, absent = [] } = validated;
  const json = JSON.stringify(value);
  // Validation changed nothing, so the parsed value need not be read again.
  if (json === argsJson) return { ok: true, value: parsed.value, json: argsJson, absent };
  return { ok: true, value: JSON.parse(json) as JsonValue, json, absent };
}

/**
 * Returns the note about null in an optional member. The check before the run makes the same note for arguments that it
 * knows.
 */
export function absentNote(tool: Tool, { line, column }: FacadeCall, path: string): Diagnostic {
  const place = { line, column };
  return { severity: 'info', code: NULL_AS_ABSENT, message: nullAsAbsent(tool.name, path), ...place };
}

/** Returns the note about a part of a result that was converted. `what`: see `ConvertedResult.notes`. */
export function conversionNote(tool: Tool, { line, column }: FacadeCall, what: string): Diagnostic {
  return { severity: 'info', code: RESULT_CONVERTED, message: `tools.${tool.name}: ${what}`, line, column };
}

/** Receives a tool's reports while its call runs. */
export interface CallReporter {
  progress(record: CallRecord, message: unknown): void;
  warn(record: CallRecord, message: unknown): void;
  output(record: CallRecord, text: unknown): void;
  hasUntrustedInput(record: CallRecord): boolean;
}

const READ_SIGNAL = Symbol('readSignal');

type LazyContext = Omit<ToolCallContext, 'signal'> & { readonly [READ_SIGNAL]: () => AbortSignal };

/**
 * All contexts share one descriptor: a getter in each object would cost three times as much as the rest of the object.
 */
const SIGNAL: PropertyDescriptor & ThisType<LazyContext> = {
  get() {
    return this[READ_SIGNAL]();
  },
  enumerable: true,
  configurable: true,
};

/** Returns the key by which a tool recognises a repeated call. */
export function idempotencyKey(
  scriptId: string | undefined,
  { callId, callIndex }: { callId: string; callIndex: number },
): string {
  return scriptId === undefined ? callId : `${scriptId}:${callIndex}`;
}

/**
 * Returns a tool's view of its call: a plain object. `signal` is created when the tool reads it, which most tools never
 * do. Copies of a context, and objects that inherit from it, have the signal too.
 */
export function callContext(
  { context: run, scriptId, savedScripts }: FacadeOptions,
  record: CallRecord,
  reporter: CallReporter,
): ToolCallContext {
  const { callId, callIndex, detached, retries } = record.call;
  // Members after a spread object would cost more than the rest of a call.
  const context: LazyContext = {
    app: run.app,
    principal: run.principal,
    threadId: run.sink.identity?.threadId,
    runId: run.sink.identity?.runId,
    fence: run.fence,
    callId,
    scriptId,
    idempotencyKey: retries?.idempotencyKey ?? idempotencyKey(scriptId, { callId, callIndex }),
    progress: (message) => reporter.progress(record, message),
    warn: (message) => reporter.warn(record, message),
    output: detached === true ? (text) => reporter.output(record, text) : undefined,
    // defence: tasks-run-no-saved-scripts
    savedScripts: detached === true && savedScripts !== undefined ? { ...savedScripts, linked: [] } : savedScripts,
    maxOutputBytes: run.limits.maxToolOutputBytes,
    queueWaitMs: run.limits.queueWaitMs,
    covers: record.approved?.covers,
    hasUntrustedInput: () => reporter.hasUntrustedInput(record),
    markUntrusted: () => record.markUntrusted(),
    [READ_SIGNAL]: () => record.signal,
  };
  return Object.defineProperty(context, 'signal', SIGNAL) as LazyContext & ToolCallContext;
}

type CheckedResult =
  /** `json` is the value's text; an empty text means `undefined`. `notes`: a sentence about each converted part. */
  | { readonly ok: true; readonly json: string; readonly value: unknown; readonly notes: readonly string[] }
  /** `isTooLarge`: the result exceeds a limit, and is data otherwise. */
  | { readonly ok: false; readonly reason: string; readonly isTooLarge?: true };

interface ResultLimits {
  /** Maximum bytes of JSON. */
  readonly maxToolResultBytes: number;
  /** Maximum number of values at all levels together, plus member names. */
  readonly maxToolResultValues: number;
}

/**
 * Converts a tool's return value to JSON text: checked against the output schema, and limited in depth, values and
 * bytes. The tool has already run, so every error message says so. Never throws.
 */
export function checkResult(tool: Tool, result: unknown, limits: ResultLimits): CheckedResult {
  try {
    return serialise(tool, result, limits);
  } catch {
    return withoutItsCycles(tool, result, limits) ?? refusedResult(tool, 'its result is not JSON data');
  }
}

function withoutItsCycles(tool: Tool, result: unknown, limits: ResultLimits): CheckedResult | undefined {
  try {
    const { value, notes } = withoutCycles(result, limits.maxToolResultValues);
    if (notes.length === 0) return undefined;
    const checked = serialise(tool, value, limits);
    return checked.ok ? { ...checked, notes: [...notes, ...checked.notes] } : checked;
  } catch {
    return undefined;
  }
}

const NO_NOTES: readonly string[] = [];

function serialise(tool: Tool, given: unknown, limits: ResultLimits): CheckedResult {
  const { maxToolResultBytes: maxBytes, maxToolResultValues: maxValues } = limits;
  const { lost, values, hasErrors, isConvertible } = new ResultLook(given, maxValues);
  if (lost !== undefined) return refusedResult(tool, `its result is not JSON data: result${lost.path} is ${lost.kind}`);
  // defence: result-values-are-capped
  if (values > maxValues)
    return (
      withoutItsCycles(tool, given, limits) ??
      tooLarge(tool, `its result holds more than ${maxValues} values and names of members; request less`)
    );
  const { value: result, notes } = isConvertible ? convertResult(given) : { value: given, notes: NO_NOTES };
  let json = JSON.stringify(result, hasErrors ? errorsAsData : undefined) as string | undefined;
  if (json === undefined && result !== undefined)
    return refusedResult(tool, `its result is not JSON data but a ${typeof result}`);
  const extent = json === undefined ? { depth: 0, values: 0 } : measureJson(json, MAX_JSON_DEPTH);
  // defence: result-depth-is-capped
  if (extent.depth > MAX_JSON_DEPTH)
    return refusedResult(tool, `its result is nested deeper than ${MAX_JSON_DEPTH} levels`);
  let read: { json: string | undefined; value: unknown } | undefined;
  // defence: no-prototype-results
  if (json !== undefined && namesPrototype(json)) return refusedResult(tool, `its result has a ${PROTOTYPE_MEMBER}`);
  if (tool.outputSchema !== undefined) {
    read = { json, value: json === undefined ? undefined : JSON.parse(json) };
    const validated = tool.validateOutput(read.value);
    if (!validated.ok) {
      const issues = validated.issues.map((issue) => ({ ...issue, path: issue.path.replace(/^args/, 'result') }));
      return refusedResult(tool, `its result does not fit its own output schema: ${issueLines(issues)}`);
    }
    json = JSON.stringify(validated.value);
  }
  const bytes = json === undefined ? 0 : Buffer.byteLength(json);
  // defence: result-bytes-are-capped
  if (bytes > maxBytes)
    return tooLarge(tool, `its result is ${bytes} bytes of JSON, and at most ${maxBytes} are allowed; request less`);
  if (json === undefined) return { ok: true, json: '', value: undefined, notes };
  // Validation usually changes nothing. In that case the value is not read twice.
  return { ok: true, json, value: read?.json === json ? read.value : JSON.parse(json), notes };
}

/** Converts an error to its name and message, because its other members belong to the host. */
function errorsAsData(this: Record<string, unknown>, key: string, value: unknown): unknown {
  // The `toJSON` of an error is not called, because it may expose the request with its keys.
  const error = this[key];
  return error instanceof Error ? { name: error.name, message: error.message } : value;
}

function tooLarge(tool: Tool, reason: string): CheckedResult {
  return { ...refusedResult(tool, reason), isTooLarge: true };
}

function refusedResult(tool: Tool, reason: string): CheckedResult & { readonly ok: false } {
  const effect = tool.effect === 'read' ? 'ran' : 'ran and took effect';
  return { ok: false, reason: `The tool "${tool.name}" ${effect}, but ${reason}.` };
}

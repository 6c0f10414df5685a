import type { JsonValue } from '../protocol/json.js';
import type { Diagnostic } from '../protocol/script.js';
import type { Tool } from '../protocol/tools.js';
import { NULL_AS_ABSENT, nullAsAbsent } from '../text/null-as-absent.js';
import type { FacadeCall } from './facade-types.js';
import { parseJson } from './json-text.js';
import { issueLines } from './validation-issues.js';

export type CheckedArguments =
  /** `absent`: paths of members that are null and count as omitted. */
  | { ok: true; value: JsonValue; json: string; absent: readonly string[] }
  | { ok: false; message: string; sent: JsonValue; data?: unknown };

export interface ArgumentLimits {
  /** Maximum bytes of JSON. */
  readonly maxBytes: number;
  /** Maximum number of values at every level, plus member names. */
  readonly maxValues: number;
}

/** Validates the arguments and serialises the effective input, once. `sent`: the recorded form of invalid arguments. */
export function checkArguments(
  tool: Tool,
  { argsJson, argsProblem }: FacadeCall,
  { maxBytes, maxValues }: ArgumentLimits,
): CheckedArguments {
  const wrong = (reason: string): CheckedArguments => ({
    ok: false,
    message: `The arguments of ${tool.name} are wrong: ${reason}.`,
    sent: null,
  });
  if (argsProblem !== undefined) return wrong(argsProblem);
  const bytes = Buffer.byteLength(argsJson);
  // defence: argument-bytes-are-capped
  if (bytes > maxBytes) return wrong(`they are ${bytes} bytes of JSON, and ${maxBytes} are allowed`);
  const parsed = argsJson === '' ? { ok: true as const, value: {} } : parseJson(argsJson, maxValues);
  if (!parsed.ok) return wrong(parsed.reason);
  const validated = tool.validateInput(parsed.value);
  if (!validated.ok) {
    const message = `The arguments of ${tool.name} are wrong:\n${issueLines(validated.issues)}`;
    return { ok: false, message, sent: parsed.value, data: { issues: validated.issues.slice(0, 20) } };
  }
  const { value, absent = [] } = validated;
  const json = JSON.stringify(value);
  // Validation added nothing, so the original text is the one that runs.
  if (json === argsJson) return { ok: true, value: parsed.value, json: argsJson, absent };
  return { ok: true, value: JSON.parse(json) as JsonValue, json, absent };
}

/** Notes null in an optional member. Arguments that are known before the script runs are noted by the check. */
export function absentNote(tool: Tool, { line, column }: FacadeCall, path: string): Diagnostic {
  const place = { ...(line !== undefined && { line }), ...(column !== undefined && { column }) };
  return { severity: 'info', code: NULL_AS_ABSENT, message: nullAsAbsent(tool.name, path), ...place };
}

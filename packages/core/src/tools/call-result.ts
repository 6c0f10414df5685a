import { jsonDepthExceeds, MAX_JSON_DEPTH } from '../protocol/json.js';
import type { Tool } from '../protocol/tools.js';
import { issueLines } from './validation-issues.js';

export type CheckedResult =
  /** `json` is the value's text; an empty one is `undefined`. */
  | { readonly ok: true; readonly json: string; readonly value: unknown }
  | { readonly ok: false; readonly reason: string };

/**
 * A tool's return value as JSON text: checked against the output schema, capped in depth and bytes. The tool
 * has run by now, so every refusal says so. Never throws.
 */
export function checkResult(tool: Tool, result: unknown, maxBytes: number): CheckedResult {
  try {
    return serialise(tool, result, maxBytes);
  } catch {
    return refused(tool, 'its result is not JSON data');
  }
}

function serialise(tool: Tool, result: unknown, maxBytes: number): CheckedResult {
  const lost = findLost(result, 'result', 0);
  if (lost !== undefined) return refused(tool, `its result is not JSON data: ${lost}`);
  let json = JSON.stringify(result) as string | undefined;
  if (json === undefined && result !== undefined)
    return refused(tool, `its result is not JSON data but a ${typeof result}`);
  // defence: result-depth-is-capped
  if (json !== undefined && jsonDepthExceeds(json, MAX_JSON_DEPTH)) {
    return refused(tool, `its result is nested deeper than ${MAX_JSON_DEPTH} levels`);
  }
  let read: { json: string | undefined; value: unknown } | undefined;
  if (tool.outputSchema !== undefined) {
    read = { json, value: json === undefined ? undefined : JSON.parse(json) };
    const validated = tool.validateOutput(read.value);
    if (!validated.ok) {
      const issues = validated.issues.map((issue) => ({ ...issue, path: issue.path.replace(/^args/, 'result') }));
      return refused(tool, `its result does not fit its own output schema: ${issueLines(issues)}`);
    }
    json = JSON.stringify(validated.value);
  }
  const bytes = json === undefined ? 0 : Buffer.byteLength(json);
  // defence: result-bytes-are-capped
  if (bytes > maxBytes)
    return refused(tool, `its result is ${bytes} bytes of JSON and ${maxBytes} may cross; ask for less`);
  if (json === undefined) return { ok: true, json: '', value: undefined };
  // What was validated is what came out, in most cases: it need not be read twice.
  return { ok: true, json, value: read?.json === json ? read.value : JSON.parse(json) };
}

/** What JSON would silently empty: a Map or Set becomes `{}`. Deeper than JSON may cross is refused later. */
function findLost(value: unknown, path: string, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null || depth > MAX_JSON_DEPTH) return undefined;
  if (value instanceof Map || value instanceof Set) return `${path} is a ${value instanceof Map ? 'Map' : 'Set'}`;
  if (value instanceof Promise) return `${path} is a Promise that was not awaited`;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const found =
        typeof value[index] === 'object' ? findLost(value[index], `${path}[${index}]`, depth + 1) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return undefined;
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key];
    const found = typeof member === 'object' ? findLost(member, `${path}.${key}`, depth + 1) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function refused(tool: Tool, reason: string): CheckedResult {
  const effect = tool.effect === 'read' ? 'ran' : 'ran and took effect';
  return { ok: false, reason: `The tool "${tool.name}" ${effect}, but ${reason}.` };
}

import {
  scriptFailure,
  type CompiledScript,
  type Diagnostic,
  type Operation,
  type SandboxEnd,
  type ScriptFailure,
  type SourcePosition,
} from '../protocol/index.js';
import { mapGuestStack } from './guest-stack.js';

/** A call with effects that was still running when the script had ended, and did not stop when it was aborted. */
export function detachedFailure(stillRunning: readonly Operation[]): ScriptFailure | undefined {
  const withEffects = stillRunning.filter(({ effect }) => effect !== 'read');
  const [first] = withEffects;
  if (first === undefined) return undefined;
  const names = withEffects.map(({ tool }) => `tools.${tool}`).join(', ');
  return scriptFailure(
    'DetachedPromiseError',
    `The script ended while ${names} was still running; whether it took effect is not known.`,
    {
      toolName: first.tool,
      callId: first.callId,
      ...(first.line === undefined ? {} : { line: first.line }),
      hint: 'Await every tool call.',
    },
  );
}

/** Rejections that nothing handled, one warning each. */
export function unhandledDiagnostics(end: SandboxEnd, script: CompiledScript): Diagnostic[] {
  if (end.type !== 'returned' && end.type !== 'threw' && end.type !== 'stalled') return [];
  return (end.unhandled ?? []).map((thrown) => {
    const position = mapGuestStack(thrown.stack, script).position;
    const name = thrown.name === '' ? '' : `${thrown.name}: `;
    return {
      severity: 'warning',
      code: 'unhandled-rejection',
      message: `A promise was rejected and nothing handled it: ${name}${thrown.message}`,
      ...(position === undefined ? {} : { line: position.line, column: position.column }),
    };
  });
}

/** Warnings about callbacks of timers that never ran, because their effects are missing without any other sign. */
export function timerDiagnostics(end: SandboxEnd, pending: readonly (SourcePosition | undefined)[]): Diagnostic[] {
  if (pending.length === 0 || end.type !== 'returned') return [];
  const [what, whose] =
    pending.length === 1 ? ['a timer was', 'its callback'] : [`${pending.length} timers were`, 'their callbacks'];
  const message = `The script ended while ${what} pending; ${whose} will not run any more. Await the work, or clear the timer.`;
  return [{ severity: 'warning', code: 'pending-timer', message, ...pending.find((place) => place !== undefined) }];
}

/**
 * Calls with effects that were aborted because nothing waited for them, one warning for each place. `void tools.x()`
 * marks a deliberate call; places that the compiler has already reported are omitted.
 */
export function abortedDiagnostics(
  end: SandboxEnd,
  operations: readonly Operation[],
  { source, diagnostics }: CompiledScript,
): Diagnostic[] {
  if (end.type !== 'returned') return [];
  const places = new Map<string, Operation[]>();
  for (const operation of operations) {
    if (operation.status !== 'aborted' || operation.effect === 'read' || isVoided(source, operation)) continue;
    const key = `${operation.tool} ${operation.line}`;
    places.set(key, [...(places.get(key) ?? []), operation]);
  }
  return [...places.values()].flatMap(([first, ...others]) => {
    const { tool, line, column } = first!;
    if (diagnostics.some((note) => note.code === 'floating-promise' && note.line === line)) return [];
    const calls = others.length === 0 ? 'was' : `(${others.length + 1} calls) was`;
    const message = `tools.${tool} ${calls} aborted, because nothing in the script waited for it. Write \`await\` before the call, before calls to functions that make it, or \`await Promise.all(…)\` around the list.`;
    const place = line === undefined ? {} : { line, ...(column !== undefined && { column }) };
    return [{ severity: 'warning', code: 'aborted-call', message, ...place } as const];
  });
}

const VOIDED = /\bvoid\s+[\w$.?![\]'"\s]*$/u;
/** Longer names of tools are not searched. */
const VOIDED_LENGTH = 200;

function isVoided(source: string, { line, column }: Operation): boolean {
  if (line === undefined || column === undefined) return false;
  const lines = source.split(/\r\n|\n|\r/u).slice(0, line);
  const last = (lines.pop() ?? '').slice(0, column - 1);
  return VOIDED.test([...lines, last].join('\n').slice(-VOIDED_LENGTH));
}

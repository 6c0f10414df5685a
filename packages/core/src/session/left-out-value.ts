import type { CompiledScript, Diagnostic, Limits, SandboxEnd } from '../protocol/index.js';
import { valueFault } from './outcome-failure.js';

/** Repairs that put a `return` before a value. */
const RETURNING_REPAIRS: ReadonlySet<string> = new Set([
  'repair-unawaited-call',
  'repair-function',
  'repair-last-value',
]);

interface ValueEnd {
  readonly end: SandboxEnd;
  /** Says that the value was left out. */
  readonly warning: Diagnostic | undefined;
}

/** A value that the script did not ask to return, and that cannot be returned, is no failure: its work is done. */
export function withoutRepairedReturn(end: SandboxEnd, { diagnostics }: CompiledScript, limits: Limits): ValueEnd {
  if (end.type !== 'unserializable' && end.type !== 'return_too_large') return { end, warning: undefined };
  const repair = diagnostics.find(({ code }) => RETURNING_REPAIRS.has(code));
  if (repair === undefined) return { end, warning: undefined };
  const { line, column } = repair;
  const message = `The script has no \`return\`, and the value of its last statement was left out. ${valueFault(end, limits)}`;
  const place = line === undefined ? {} : { line, ...(column !== undefined && { column }) };
  return {
    end: { type: 'returned', json: undefined, unhandled: [] },
    warning: { severity: 'warning', code: 'value-left-out', message, ...place },
  };
}

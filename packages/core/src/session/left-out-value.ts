import type { CompiledScript, Diagnostic, Limits, SandboxEnd } from '../protocol/index.js';
import { valueFault } from './outcome-failure.js';

/** Repairs that insert a `return` before a value. */
const RETURNING_REPAIRS: ReadonlySet<string> = new Set([
  'repair-unawaited-call',
  'repair-function',
  'repair-last-value',
]);

interface ValueEnd {
  readonly end: SandboxEnd;
  /** The note that the value was omitted. */
  readonly warning: Diagnostic | undefined;
}

/** If a repair added the `return`, a value that cannot be returned is not a failure: the script's work is done. */
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

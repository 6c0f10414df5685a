import type { SyntaxIndex } from '../syntax/syntax-index.js';
import type { Finding } from './findings.js';

/** Reports integers beyond 2^53 that a number would round, such as the ids of many services. */
export function findInexactIntegers({ inexactIntegers }: SyntaxIndex): Finding[] {
  return inexactIntegers.map(({ raw, value, start }) => {
    const digits = String(raw).replaceAll('_', '');
    const message = `${digits} is beyond 2^53, and as a number it would be ${BigInt(value as number)}. Write it as text: '${digits}'. Only to calculate with it, write ${digits}n.`;
    return { severity: 'error', code: 'inexact-integer', message, offset: start };
  });
}

import { insteadOf } from '../text/missing-names.js';
import type { Finding } from './findings.js';
import { GIVEN } from './given-names.js';
import type { SyntaxIndex } from './syntax-index.js';

/**
 * Functions and values that are only declared (`declare function save(…): void`) and used nevertheless. TypeScript
 * accepts such a declaration. Overloads of a function with a body are not reported.
 */
export function findMissingImplementations({ ambient, declared, references }: SyntaxIndex): Finding[] {
  return [...ambient.keys()].flatMap((name) => {
    const isThere =
      declared.has(name) || GIVEN.has(name) || (Object.hasOwn(globalThis, name) && insteadOf(name) === undefined);
    const use = isThere ? undefined : references.get(name)?.find(({ parent }) => !asks(parent?.node));
    if (use === undefined) return [];
    const message = `\`${name}\` is declared here and implemented nowhere. ${insteadOf(name) ?? 'Write the function, or call a tool.'}`;
    return [{ severity: 'error' as const, code: 'missing-implementation', message, offset: use.node.start }];
  });
}

function asks(holder: { type: string; operator?: string } | undefined): boolean {
  return holder?.type === 'UnaryExpression' && holder.operator === 'typeof';
}

import type { ParseProblem } from '../syntax/parse.js';
import type { SyntaxIndex } from '../syntax/syntax-index.js';

/**
 * Matches messages about patterns that are faulty in every engine. Any other message may be about syntax that the
 * running version of Node does not know yet.
 */
const CERTAIN = /unterminated|unmatched|nothing to repeat|lone quantifier|\\ at end|out of order|range out/i;

/** Reports regular expressions that no engine accepts. */
export function findBadPatterns(index: SyntaxIndex): ParseProblem[] {
  const problems: ParseProblem[] = [];
  for (const { node } of index.badPatterns) {
    if (node.type !== 'Literal' || !('regex' in node)) continue;
    const fault = patternFault(node.regex.pattern, node.regex.flags);
    if (fault === undefined || !CERTAIN.test(fault)) continue;
    problems.push({ code: 'ScriptSyntaxError', message: `Invalid regular expression: ${fault}.`, offset: node.start });
  }
  return problems;
}

function patternFault(pattern: string, flags: string): string | undefined {
  try {
    RegExp(pattern, flags);
    return undefined;
  } catch (error) {
    return error instanceof Error ? /[^:]*$/.exec(error.message)?.[0].trim() : undefined;
  }
}

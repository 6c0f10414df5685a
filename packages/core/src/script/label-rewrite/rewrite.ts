import { parseSync } from 'oxc-parser';
import { ownName, privateMembers, reassignedNames } from './names.js';
import { Rewriter } from './rewriter.js';
import { UnsupportedSyntax } from './scopes.js';

export type RewrittenScript =
  | { readonly ok: true; readonly code: string }
  /** `reason`: what the rewriter does not know. */
  | { readonly ok: false; readonly reason: string };

/**
 * Rewrites a compiled script so that every value has a label beside it: the calls from whose results it comes. The
 * result is a function that receives the label runtime and returns the script, which behaves as before. `control`:
 * whether branches count as sources too.
 */
export function rewriteForLabels({ javascript, control }: { javascript: string; control: boolean }): RewrittenScript {
  try {
    return { ok: true, code: rewrite(javascript, control) };
  } catch (error) {
    if (error instanceof UnsupportedSyntax || error instanceof RangeError) return { ok: false, reason: error.message };
    throw error;
  }
}

function rewrite(text: string, control: boolean): string {
  const { program, errors } = parseSync('script.js', text, { lang: 'js', sourceType: 'script', preserveParens: false });
  const [statement] = program.body;
  const root = statement?.type === 'ExpressionStatement' ? statement.expression : undefined;
  if (errors.length > 0 || root?.type !== 'ArrowFunctionExpression' || program.body.length !== 1)
    throw new UnsupportedSyntax('a script that is no function');
  const name = ownName(root);
  if (name !== undefined) throw new UnsupportedSyntax(`the name ${name}`);
  const input = { text, control, reassigned: reassignedNames(root), privateMembers: privateMembers(root) };
  return new Rewriter(input).script(root);
}

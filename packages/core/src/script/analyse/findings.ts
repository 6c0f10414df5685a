import type { Diagnostic } from '../../protocol/index.js';
import type { SyntaxIndex } from '../syntax/syntax-index.js';
import { memberName, walk, type NodeOf, type Visit } from '../syntax/syntax.js';

/** A diagnostic with an offset instead of a line and a column. `offset` refers to the text that was parsed. */
export interface Finding extends Pick<Diagnostic, 'severity' | 'message' | 'code'> {
  readonly offset: number;
}

/** A finding that is wrong if the script or a tool defines a method with this name. */
export interface MethodFinding {
  readonly method: string;
  readonly finding: Finding;
}

/** Returns the findings about calls, except calls of members that the script defines, or that are part of a tool's name. */
export function methodFindings(
  index: SyntaxIndex,
  toolNames: readonly string[],
  judge: (call: Visit) => MethodFinding | undefined,
): Finding[] {
  const findings = index.calls.flatMap((visit) => judge(visit) ?? []);
  if (findings.length === 0) return [];
  const members = new Set([...ownMembers(index), ...toolNames.flatMap((name) => name.split('.'))]);
  return findings.filter(({ method }) => !members.has(method)).map(({ finding }) => finding);
}

/** Names of the members that the script itself defines: in its objects and classes, and by assignment. */
function ownMembers({ program }: SyntaxIndex): ReadonlySet<string> {
  const names = new Set<string>();
  walk(program, ({ node, parent, key }) => {
    if (node.type === 'Identifier' && key === 'key' && parent?.node.type !== 'TSPropertySignature')
      names.add(node.name);
    if (node.type === 'AssignmentExpression' && node.left.type === 'MemberExpression')
      names.add(memberName(node.left as NodeOf<'MemberExpression'>) ?? '');
  });
  return names;
}

import { GIVEN } from '../analyse/known-names.js';
import type { SyntaxIndex } from '../syntax/syntax-index.js';
import type { Node, NodeOf, Visit } from '../syntax/syntax.js';
import { memberPath } from '../syntax/tool-calls.js';

/**
 * The argument list, in parentheses, with which a function can be called as the script's entry: the standard values
 * of scripts, by name or as members of one object. Undefined for a function that needs other arguments, which only
 * the script knows.
 */
export function entryArguments(fn: Node, index: SyntaxIndex): string | undefined {
  const { params = [] } = fn as { params?: Node[] | undefined };
  const values = params
    .filter((parameter) => !(parameter.type === 'Identifier' && parameter.name === 'this'))
    .map((parameter) => argumentFor(parameter, index));
  if (values.includes(undefined)) return undefined;
  while (values.at(-1) === 'undefined') values.pop();
  return `(${values.join(', ')})`;
}

/**
 * The argument for a parameter, as text. The text `undefined` if the parameter may be omitted; undefined if only the
 * script knows the argument.
 */
function argumentFor(parameter: Node, index: SyntaxIndex): string | undefined {
  switch (parameter.type) {
    case 'AssignmentPattern':
    case 'RestElement':
      return 'undefined';
    case 'ObjectPattern':
      return objectFor(parameter);
    case 'Identifier':
      if (GIVEN.has(parameter.name)) return parameter.name;
      return (parameter as { optional?: boolean | undefined }).optional === true
        ? 'undefined'
        : holderFor(parameter.name, index);
    default:
      return undefined;
  }
}

/** The argument for an object pattern: `{ tools, context }`. A member with a default may be omitted. */
function objectFor({ properties }: NodeOf<'ObjectPattern'>): string | undefined {
  const members: string[] = [];
  for (const property of properties) {
    if (property.type !== 'Property') continue;
    const name = property.key.type === 'Identifier' && !property.computed ? property.key.name : '';
    if (GIVEN.has(name)) members.push(name);
    else if (property.value.type !== 'AssignmentPattern') return undefined;
  }
  return object(members);
}

/**
 * The argument for a parameter like `ctx`: an object if the function uses only `ctx.tools` and similar members, or the
 * text `undefined` if the parameter may be missing, as in `input?.name` and `input ?? {}`.
 */
function holderFor(name: string, { references, declared }: SyntaxIndex): string | undefined {
  if (declared.get(name)?.length !== 1) return undefined;
  const members = new Set<string>();
  for (const use of references.get(name) ?? []) {
    if (mayBeMissing(use)) continue;
    const { visit, path } = memberPath(use);
    const declarator = visit.parent?.node;
    const isDeclared = path.length === 0 && visit.key === 'init' && declarator?.type === 'VariableDeclarator';
    const names = isDeclared ? patternMemberNames(declarator.id) : path.slice(0, 1);
    if (names.length === 0 || !names.every((each) => GIVEN.has(each))) return undefined;
    for (const each of names) members.add(each);
  }
  return members.size === 0 ? 'undefined' : object([...members]);
}

function mayBeMissing({ key, parent }: Visit): boolean {
  const holder = parent?.node;
  if (holder?.type === 'MemberExpression') return key === 'object' && holder.optional;
  return holder?.type === 'LogicalExpression' && key === 'left' && holder.operator !== '&&';
}

function patternMemberNames(pattern: Node): string[] {
  if (pattern.type !== 'ObjectPattern') return [];
  return pattern.properties.map((property) =>
    property.type === 'Property' && property.key.type === 'Identifier' ? property.key.name : '',
  );
}

function object(members: readonly string[]): string {
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

import type { TopLevel, TopLevelVariable } from '../../protocol/index.js';
import type { Node, NodeOf, Program } from '../syntax/syntax.js';

/** Finds the declarations directly at the top level of a script of a program. `text`: the script after its repairs. */
export function topLevel(program: Program, text: string): TopLevel {
  const variables = new Map<string, TopLevelVariable>();
  const types: string[] = [];
  for (const statement of program.body as readonly Node[]) {
    for (const variable of declaredVariables(statement, text)) variables.set(variable.name, variable);
    if (isType(statement)) types.push(text.slice(statement.start, statement.end));
  }
  const last = program.body.at(-1);
  const end = last?.type === 'ReturnStatement' ? last.start : text.length;
  return { variables: [...variables.values()], types, end };
}

function isType({ type }: Node): boolean {
  return type === 'TSTypeAliasDeclaration' || type === 'TSInterfaceDeclaration';
}

function declaredVariables(statement: Node, text: string): TopLevelVariable[] {
  switch (statement.type) {
    case 'VariableDeclaration':
      return boundVariables(statement);
    case 'FunctionDeclaration':
      return statement.id === null ? [] : [{ name: statement.id.name, kind: 'function', offset: statement.id.start }];
    case 'ClassDeclaration':
    case 'TSEnumDeclaration': {
      if (statement.id === null || statement.declare === true) return [];
      const kind = statement.type === 'ClassDeclaration' ? 'class' : 'enum';
      const { name, start: offset } = statement.id;
      return [{ name, kind, offset, text: text.slice(statement.start, statement.end) }];
    }
    default:
      return [];
  }
}

/** A variable of `using` is disposed at the end of its script. */
function boundVariables({ kind, declare, declarations }: NodeOf<'VariableDeclaration'>): TopLevelVariable[] {
  if (declare === true || kind === 'using' || kind === 'await using') return [];
  return declarations
    .flatMap(({ id }) => patternNames(id as Node))
    .map(({ name, start: offset }) => ({ name, kind: kind === 'const' ? 'constant' : 'variable', offset }));
}

function patternNames(pattern: Node): { name: string; start: number }[] {
  switch (pattern.type) {
    case 'Identifier':
      return [{ name: pattern.name, start: pattern.start }];
    case 'ObjectPattern':
      return pattern.properties.flatMap((part) =>
        patternNames((part.type === 'RestElement' ? part : part.value) as Node),
      );
    case 'ArrayPattern':
      return pattern.elements.flatMap((element) => (element === null ? [] : patternNames(element as Node)));
    case 'AssignmentPattern':
      return patternNames(pattern.left as Node);
    case 'RestElement':
      return patternNames(pattern.argument as Node);
    default:
      return [];
  }
}

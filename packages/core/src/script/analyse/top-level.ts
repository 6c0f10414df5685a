import type { TopLevel, TopLevelVariable } from '../../protocol/index.js';
import type { Node, NodeOf, Program } from '../syntax/syntax.js';

/**
 * Finds the declarations at the top level of a script of a program, also each `var` in its blocks, which JavaScript
 * declares there. `text`: the script after its repairs.
 */
export function topLevel(program: Program, text: string): TopLevel {
  const variables = new Map<string, TopLevelVariable>();
  const types: string[] = [];
  for (const statement of program.body as readonly Node[]) {
    for (const variable of declaredVariables(statement, text)) variables.set(variable.name, variable);
    for (const variable of nestedStatements(statement).flatMap(blockVariables))
      if (!variables.has(variable.name)) variables.set(variable.name, variable);
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
    .flatMap(({ id }) => patternVariables(id as Node))
    .map(({ name, start: offset }) => ({ name, kind: kind === 'const' ? 'constant' : 'variable', offset }));
}

/** Each `var` of a statement in a block, which may never run. */
function blockVariables(statement: Node): TopLevelVariable[] {
  if (statement.type !== 'VariableDeclaration') return nestedStatements(statement).flatMap(blockVariables);
  if (statement.kind !== 'var') return [];
  return boundVariables(statement).map((variable) => ({ ...variable, isOfBlock: true }));
}

/** The statements in a statement, without those of functions and classes. */
function nestedStatements(statement: Node): readonly Node[] {
  switch (statement.type) {
    case 'BlockStatement':
      return statement.body as Node[];
    case 'IfStatement':
      return present(statement.consequent, statement.alternate);
    case 'ForStatement':
      return present(statement.init, statement.body);
    case 'ForInStatement':
    case 'ForOfStatement':
      return present(statement.left, statement.body);
    case 'WhileStatement':
    case 'DoWhileStatement':
    case 'LabeledStatement':
      return present(statement.body);
    case 'TryStatement':
      return present(statement.block, statement.handler?.body, statement.finalizer);
    case 'SwitchStatement':
      return statement.cases.flatMap(({ consequent }) => consequent as Node[]);
    default:
      return [];
  }
}

function present(...nodes: readonly (object | null | undefined)[]): readonly Node[] {
  return nodes.filter((node) => node !== null && node !== undefined) as Node[];
}

/** The variables that a pattern declares. */
export function patternVariables(pattern: Node): { name: string; start: number }[] {
  switch (pattern.type) {
    case 'Identifier':
      return [{ name: pattern.name, start: pattern.start }];
    case 'ObjectPattern':
      return pattern.properties.flatMap((part) =>
        patternVariables((part.type === 'RestElement' ? part : part.value) as Node),
      );
    case 'ArrayPattern':
      return pattern.elements.flatMap((element) => (element === null ? [] : patternVariables(element as Node)));
    case 'AssignmentPattern':
      return patternVariables(pattern.left as Node);
    case 'RestElement':
      return patternVariables(pattern.argument as Node);
    default:
      return [];
  }
}

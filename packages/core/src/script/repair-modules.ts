import { blank } from './edits.js';
import type { Edit } from './edits.js';
import type { SyntaxIndex } from './syntax-index.js';
import { memberName, unwrapped } from './syntax.js';
import type { Node, NodeOf } from './syntax.js';
import { toolBindings } from './import-bindings.js';
import { ToolFit } from './tool-fit.js';
import type { TreeRepair } from './tree-repair.js';

/**
 * Removes module syntax that changes nothing in a script: imports of types, imports of names that are tools, `export`
 * before a declaration, lists of exports. `module.exports = x` is read as `export default x`.
 */
export function repairModules(
  index: SyntaxIndex,
  text: string,
  toolNames: readonly string[] | undefined,
): TreeRepair | undefined {
  const found = index.program.body.flatMap((statement) => {
    const part = repairStatement(statement, { index, text, fit: () => new ToolFit(toolNames ?? []) });
    return part === undefined ? [] : [part];
  });
  if (found.length === 0) return undefined;
  return {
    edits: found.map(({ edit }) => edit),
    notes: found.map(({ code, message, edit }) => ({ code, message, severity: 'info', offset: edit.start })),
  };
}

interface Part {
  readonly code: string;
  readonly message: string;
  readonly edit: Edit;
}

interface Surroundings {
  readonly index: SyntaxIndex;
  readonly text: string;
  readonly fit: () => ToolFit;
}

function repairStatement(statement: Node, around: Surroundings): Part | undefined {
  switch (statement.type) {
    case 'ImportDeclaration':
      return repairImport(statement, around);
    case 'ExportNamedDeclaration':
      return repairExportedNames(statement, around);
    case 'ExpressionStatement':
      return repairModuleExports(statement, around);
    default:
      return undefined;
  }
}

function repairImport(statement: NodeOf<'ImportDeclaration'>, { index, text, fit }: Surroundings): Part | undefined {
  const { specifiers } = statement;
  const areTypes =
    statement.importKind === 'type' ||
    (specifiers.length > 0 &&
      specifiers.every((each) => each.type === 'ImportSpecifier' && each.importKind === 'type'));
  if (areTypes) return left('repair-import', 'The import of types was removed.', statement, text);
  if (specifiers.length === 0) return undefined;
  const bound = toolBindings(statement, index, fit());
  if (bound === undefined) return undefined;
  const written = bound.map(({ local, path }) => `const ${local} = ${path};`).join(' ');
  if (written === '') return left('repair-import', 'The import was removed: tools need no import.', statement, text);
  const message = `The import was read as \`${written}\`: tools need no import.`;
  return { code: 'repair-import', message, edit: { start: statement.start, end: statement.end, text: written } };
}

function repairExportedNames(statement: NodeOf<'ExportNamedDeclaration'>, { text }: Surroundings): Part | undefined {
  if (statement.source !== null) return undefined;
  if (statement.declaration === null) return left('repair-export', '`export { … }` was removed.', statement, text);
  const end = statement.start + 'export'.length;
  return left('repair-export', '`export` was removed.', { start: statement.start, end }, text);
}

function repairModuleExports(
  statement: NodeOf<'ExpressionStatement'>,
  { index, text }: Surroundings,
): Part | undefined {
  const assignment = statement.expression;
  if (assignment.type !== 'AssignmentExpression' || assignment.operator !== '=') return undefined;
  if (!isModuleExports(assignment.left, index)) return undefined;
  if (isListOfNames(assignment.right)) return left('repair-export', '`module.exports` was removed.', statement, text);
  return {
    code: 'repair-export',
    message: '`module.exports =` was read as `export default`.',
    edit: { start: statement.start, end: assignment.right.start, text: 'export default ' },
  };
}

function isModuleExports(node: Node, index: SyntaxIndex): boolean {
  if (node.type !== 'MemberExpression' || memberName(node) !== 'exports') return false;
  const object = unwrapped(node.object);
  return object.type === 'Identifier' && object.name === 'module' && !index.declared.has('module');
}

/** `{ main, helper }`: the exports of a module, and not a value. */
function isListOfNames(node: Node): boolean {
  return (
    node.type === 'ObjectExpression' &&
    node.properties.length > 0 &&
    node.properties.every((each) => each.type === 'Property' && each.shorthand)
  );
}

function left(code: string, message: string, { start, end }: Pick<Node, 'start' | 'end'>, text: string): Part {
  return { code, message, edit: { start, end, text: blank(text.slice(start, end)) } };
}

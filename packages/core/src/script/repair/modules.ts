import { isBuiltin } from 'node:module';
import { blank, type Edit } from '../syntax/source-text.js';
import type { SyntaxIndex } from '../syntax/syntax-index.js';
import { memberName, innerExpression, type Node, type NodeOf } from '../syntax/syntax.js';
import { ToolFit } from '../../text/tool-fit.js';
import type { TreeRepair } from './tree-repair.js';

/**
 * Removes or replaces module syntax that a script does not need: imports of types, imports of names that are tools,
 * `export` before a declaration, lists of exports. `module.exports = x` is read as `export default x`.
 */
export function repairModules(
  index: SyntaxIndex,
  text: string,
  toolNames: readonly string[] | undefined,
): TreeRepair | undefined {
  const parts = index.program.body.flatMap((statement) => {
    const part = repairStatement(statement, { index, text, fit: () => new ToolFit(toolNames ?? []) });
    return part === undefined ? [] : [part];
  });
  if (parts.length === 0) return undefined;
  return {
    edits: parts.map(({ edit }) => edit),
    notes: parts.map(({ code, message, edit }) => ({ code, message, severity: 'info', offset: edit.start })),
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
  const constants = bound.map(({ local, path }) => `const ${local} = ${path};`).join(' ');
  if (constants === '') return left('repair-import', 'The import was removed: tools need no import.', statement, text);
  const message = `The import was read as \`${constants}\`: tools need no import.`;
  return { code: 'repair-import', message, edit: { start: statement.start, end: statement.end, text: constants } };
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
  const object = innerExpression(node.object);
  return object.type === 'Identifier' && object.name === 'module' && !index.declared.has('module');
}

/** Whether the node is the list of a module's exports, and not a value: `{ main, helper }`. */
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

/** A name that an import declares, and its meaning: `rf` for `tools.readFile`. */
interface ImportBinding {
  readonly local: string;
  readonly path: string;
}

/** Module names under which other systems offer their tools. Packages with other names contain their own functions. */
const MODULES = new Set(['codemode', 'functions', 'mcp', 'servers', 'tool', 'tools', 'toolscript']);

/**
 * The declarations that replace an import whose names are all tools or contain tools. A name that denotes its tool even
 * without a declaration needs none. Undefined for any other import.
 */
function toolBindings(
  { source, specifiers }: NodeOf<'ImportDeclaration'>,
  index: SyntaxIndex,
  fit: ToolFit,
): readonly ImportBinding[] | undefined {
  const path = moduleSegments(source.value);
  const isOfTools = isOwnFile(source.value) || MODULES.has(path[0] ?? '');
  const from = { namespace: path.at(-1) ?? '', isOfTools };
  // `readFile` of Node is a different function from the tool of that name.
  if (isBuiltin(source.value)) return undefined;
  const bindings: ImportBinding[] = [];
  for (const specifier of specifiers) {
    const local = specifier.local.name;
    const path = importedPath(specifier, from, fit);
    if (path === undefined) return undefined;
    const isPlain = local === 'tools' || path === fit.holder(local) || path === fit.fitting([local]);
    if (isPlain) continue;
    // Code before an import can use the imported names. Code before a declaration cannot use the declared names.
    const isEarly = (index.references.get(local) ?? []).some(({ node }) => node.start < specifier.start);
    if (isEarly) return undefined;
    bindings.push({ local, path });
  }
  return bindings;
}

/** The segments `servers` and `google-drive` of `./servers/google-drive/index.js`. */
function moduleSegments(module: string): string[] {
  return module
    .replace(/\.[cm]?[jt]sx?$/u, '')
    .replace(/\/index$/u, '')
    .split('/')
    .map((part) => part.replace(/^@/u, ''))
    .filter((part) => !/^\.{0,2}$/u.test(part));
}

function isOwnFile(module: string): boolean {
  return /^(?:\.{0,2}|~|@)\//u.test(module);
}

interface Origin {
  readonly namespace: string;
  /**
   * True if all names of the module are tools. Otherwise, the module is a package with a namespace's name, and offers
   * only the tools of that namespace.
   */
  readonly isOfTools: boolean;
}

function importedPath(
  specifier: NodeOf<'ImportDeclaration'>['specifiers'][number],
  { namespace, isOfTools }: Origin,
  fit: ToolFit,
): string | undefined {
  const local = specifier.local.name;
  if (specifier.type !== 'ImportSpecifier') {
    if (isOfTools && local === 'tools') return 'tools';
    return (isOfTools ? fit.holder(local) : undefined) ?? fit.holder(namespace);
  }
  const name = specifier.imported.type === 'Identifier' ? specifier.imported.name : String(specifier.imported.value);
  const inNamespace = fit.fitting([namespace, name]);
  if (inNamespace !== undefined || !isOfTools) return inNamespace;
  return name === 'tools' ? 'tools' : (fit.fitting([name]) ?? fit.holder(name));
}

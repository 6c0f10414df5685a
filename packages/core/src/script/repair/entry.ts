import type { Edit } from '../syntax/source-text.js';
import { patternVariables } from '../analyse/top-level.js';
import { entryArguments } from './entry-arguments.js';
import { isLastValue } from './last-value.js';
import { isTopLevel } from '../syntax/own-functions.js';
import { treeRepair, type RepairNote, type TreeRepair } from './tree-repair.js';
import { type SyntaxIndex, isFunction } from '../syntax/syntax-index.js';
import { memberName, innerExpression, type Node, type NodeOf, type Visit } from '../syntax/syntax.js';

/**
 * Calls the script's entry and returns its result if the script has the form of a module or a function:
 * `export default`, one function as the whole script, or `main()` that is never called, called but not awaited, or not
 * returned. Returns the value of the last statement if the script has no `return`.
 */
export function repairEntry(index: SyntaxIndex, text: string): TreeRepair | undefined {
  const statements = index.program.body.filter((statement) => !isInert(statement));
  const exported = statements.find((statement) => statement.type === 'ExportDefaultDeclaration');
  if (exported !== undefined) return repairExport(exported, statements, index, text);
  const [only] = statements;
  const isWhole = statements.length === 1 && only !== undefined && !isKeptFunction(only, index);
  return (
    (isWhole ? repairWhole(only, index, text) : undefined) ??
    (index.isCell ? undefined : repairUncalledFunction(statements, index, text)) ??
    repairUnawaitedCall(statements, index) ??
    repairLastValue(statements, index, text)
  );
}

/** Whether a later script of the program can call the function. */
function isKeptFunction(statement: Node, { isCell }: SyntaxIndex): boolean {
  return isCell && statement.type === 'FunctionDeclaration' && statement.id?.name !== 'main';
}

function isInert(statement: Node): boolean {
  switch (statement.type) {
    case 'EmptyStatement':
    case 'TSInterfaceDeclaration':
    case 'TSTypeAliasDeclaration':
    case 'TSDeclareFunction':
      return true;
    case 'VariableDeclaration':
    case 'TSModuleDeclaration':
      return statement.declare === true;
    case 'ExpressionStatement':
      return 'directive' in statement && statement.directive === 'use strict';
    default:
      return false;
  }
}

// export default

function repairExport(
  exported: NodeOf<'ExportDefaultDeclaration'>,
  statements: readonly Node[],
  index: SyntaxIndex,
  text: string,
): TreeRepair | undefined {
  const keyword = /^export\s+default\b/.exec(text.slice(exported.start))?.[0];
  if (keyword === undefined) return undefined;
  const end = exported.start + keyword.length;
  const { declaration } = exported;
  if (declaration.type === 'FunctionDeclaration' && declaration.id !== null) {
    const blanked: Edit = { start: exported.start, end, text: ' '.repeat(keyword.length) };
    return repairExportedFunction(declaration, declaration.id.name, { blanked, index, text });
  }
  if (!isLast(exported, statements) || isTypeOrClass(declaration)) return undefined;
  const closeAt = beforeSemicolon(exported, text);
  const called = exportedFunction(declaration, index);
  const callArguments = called === undefined ? '' : entryArguments(called, index);
  if (callArguments === undefined) {
    const edit: Edit = { start: exported.start, end, text: 'void (' };
    return { edits: [edit, { start: closeAt, end: closeAt, text: ')' }], notes: [uncalledNote('', exported.start)] };
  }
  return treeRepair('repair-export', '`export default` was read as the script’s result.', [
    { start: exported.start, end, text: called === undefined ? 'return (' : 'return await (' },
    { start: closeAt, end: closeAt, text: `)${callArguments}` },
  ]);
}

interface ExportedFunction {
  /** The edit that removes `export default`. */
  readonly blanked: Edit;
  readonly index: SyntaxIndex;
  readonly text: string;
}

function repairExportedFunction(fn: Node, name: string, { blanked, index, text }: ExportedFunction): TreeRepair {
  if (index.references.has(name)) return treeRepair('repair-export', '`export default` was removed.', [blanked]);
  const callArguments = entryArguments(fn, index);
  if (callArguments === undefined) return { edits: [blanked], notes: [uncalledNote(name, fn.start)] };
  const message = '`export default` was removed, and the function is called.';
  return treeRepair('repair-export', message, [blanked, callAtEnd(`${name}${callArguments}`, text)]);
}

/** The exported function, inline or by its name. */
function exportedFunction(node: Node, index: SyntaxIndex): Node | undefined {
  if (isFunction(node)) return node;
  if (node.type !== 'Identifier') return undefined;
  const [only, ...others] = index.declared.get(node.name) ?? [];
  const declaration = others.length === 0 && only?.key === 'id' ? only.parent?.node : undefined;
  if (declaration?.type === 'FunctionDeclaration') return declaration;
  const value = declaration?.type === 'VariableDeclarator' ? declaration.init : null;
  return value !== null && value !== undefined && isFunction(innerExpression(value))
    ? innerExpression(value)
    : undefined;
}

function isTypeOrClass(node: Node): boolean {
  return node.type === 'ClassDeclaration' || node.type.startsWith('TS');
}

// One function is the whole script

function repairWhole(statement: Node, index: SyntaxIndex, text: string): TreeRepair | undefined {
  if (statement.type === 'FunctionDeclaration') {
    if (statement.generator || statement.id === null) return undefined;
    return entryCall({ name: statement.id.name, node: statement, start: statement.start }, wholeMessage, {
      index,
      text,
    });
  }
  if (statement.type !== 'ExpressionStatement') return undefined;
  const expression = innerExpression(statement.expression);
  if (isFunction(expression)) {
    if (expression.type === 'FunctionExpression' && expression.generator) return undefined;
    const closeAt = beforeSemicolon(statement, text);
    const callArguments = entryArguments(expression, index);
    if (callArguments === undefined) return { edits: [], notes: [uncalledNote('', statement.start)] };
    return treeRepair('repair-function', wholeMessage(''), [
      { start: statement.start, end: statement.start, text: 'return await (' },
      { start: closeAt, end: closeAt, text: `)${callArguments}` },
    ]);
  }
  const awaited = expression.type === 'AwaitExpression';
  const called = startedCall(awaited ? expression.argument : expression);
  if (called === undefined || !isFunction(innerExpression(called.callee))) return undefined;
  const prefix = awaited ? 'return ' : 'return await ';
  return treeRepair(
    'repair-function',
    'The whole script was one function that is called in place. The result of the call is returned.',
    [{ start: statement.start, end: statement.start, text: prefix }],
  );
}

function wholeMessage(name: string): string {
  return `The whole script was one function${name === '' ? '' : ` (${name})`}. The function is called, and its result is returned.`;
}

/**
 * Calls a function at the end of the script, or reports the function if it needs arguments that only the script knows.
 */
function entryCall(
  { name, node, start }: NamedFunction,
  message: (name: string) => string,
  { index, text }: Omit<ExportedFunction, 'blanked'>,
): TreeRepair {
  const callArguments = entryArguments(node, index);
  if (callArguments === undefined) return { edits: [], notes: [uncalledNote(name, start)] };
  return treeRepair('repair-function', message(name), [callAtEnd(`${name}${callArguments}`, text)], { offset: start });
}

function uncalledNote(name: string, offset: number): RepairNote {
  const what = name === '' ? 'the function' : `${name}()`;
  const message = `Nothing calls ${what}, so its code does not run. The function needs arguments that a script does not receive. End the script with \`return await\` and a call with these arguments.`;
  return { code: 'uncalled-function', message, severity: 'warning', offset };
}

interface NamedFunction {
  readonly name: string;
  readonly node: Node;
  readonly start: number;
}

const ENTRY_NAMES = ['main', 'run'];

/**
 * Calls a function that is never called, in a script that contains only declarations: `main` or `run`, or, if the
 * script would run no call at all, the only such function.
 */
function repairUncalledFunction(statements: readonly Node[], index: SyntaxIndex, text: string): TreeRepair | undefined {
  if (statements.length === 0 || !statements.every(isDeclaration)) return undefined;
  const uncalled = statements.flatMap(declaredFunctions).filter(({ name }) => !index.references.has(name));
  const [only, ...others] = uncalled;
  const runsNothing = !index.calls.some(isTopLevel);
  const entry =
    uncalled.find(({ name }) => ENTRY_NAMES.includes(name)) ?? (runsNothing && others.length === 0 ? only : undefined);
  if (entry === undefined) return undefined;
  return entryCall(entry, (name) => `Nothing called ${name}(). The function is called, and its result is returned.`, {
    index,
    text,
  });
}

/** Functions that a statement declares, directly or as values of variables. */
function declaredFunctions(statement: Node): NamedFunction[] {
  if (statement.type === 'FunctionDeclaration') {
    const name = statement.generator ? undefined : statement.id?.name;
    return name === undefined ? [] : [{ name, node: statement, start: statement.start }];
  }
  if (statement.type !== 'VariableDeclaration') return [];
  return statement.declarations.flatMap(({ id, init }) => {
    const node = init === null ? undefined : innerExpression(init);
    if (id.type !== 'Identifier' || node === undefined || !isFunction(node)) return [];
    return (node as { generator?: boolean | undefined }).generator === true
      ? []
      : [{ name: id.name, node, start: statement.start }];
  });
}

function isDeclaration(statement: Node): boolean {
  return ['FunctionDeclaration', 'ClassDeclaration', 'VariableDeclaration', 'TSEnumDeclaration'].includes(
    statement.type,
  );
}

// The last statement starts an async function and does not wait for it

function repairUnawaitedCall(statements: readonly Node[], index: SyntaxIndex): TreeRepair | undefined {
  const last = startedLast(statements, index)?.statement;
  if (last === undefined) return undefined;
  return treeRepair(
    'repair-unawaited-call',
    'The last statement calls an async function without `await`. The call is now awaited, and the script returns the result. ' +
      'Write `return await …`.',
    [{ start: last.start, end: last.start, text: 'return await ' }],
    { severity: 'warning' },
  );
}

/**
 * Whether the call is in the last statement and starts an async function as the script's entry. Such a call is awaited,
 * and its result is returned.
 */
export function isStartedEntry({ node }: Visit, index: SyntaxIndex): boolean {
  return (
    startedLast(
      index.program.body.filter((statement) => !isInert(statement)),
      index,
    )?.called === node
  );
}

function startedLast(
  statements: readonly Node[],
  index: SyntaxIndex,
): { statement: Node; called: NodeOf<'CallExpression'> } | undefined {
  const statement = statements.findLast(({ type }) => type !== 'FunctionDeclaration');
  if (statement?.type !== 'ExpressionStatement') return undefined;
  const called = startedCall(innerExpression(statement.expression));
  return called !== undefined && isAsyncFunction(innerExpression(called.callee), index)
    ? { statement, called }
    : undefined;
}

/** The call of `f` in `f()`, `f().then(…)` and `f().catch(…).finally(…)`. */
function startedCall(expression: Node): NodeOf<'CallExpression'> | undefined {
  let at = innerExpression(expression);
  while (at.type === 'CallExpression') {
    const callee = innerExpression(at.callee);
    if (callee.type !== 'MemberExpression') return at;
    if (!['then', 'catch', 'finally'].includes(memberName(callee) ?? '')) return undefined;
    at = innerExpression(callee.object);
  }
  return undefined;
}

function isAsyncFunction(callee: Node, index: SyntaxIndex): boolean {
  if (isFunction(callee)) return (callee as { async?: boolean | undefined }).async === true;
  if (callee.type !== 'Identifier') return false;
  const declarations = index.declared.get(callee.name) ?? [];
  return declarations.some(({ key, parent }) => {
    const node = parent?.node;
    if (key !== 'id') return false;
    if (node?.type === 'FunctionDeclaration') return node.async && !node.generator;
    if (node?.type !== 'VariableDeclarator' || node.init === null) return false;
    const value = innerExpression(node.init);
    return isFunction(value) && isAsyncFunction(value, index);
  });
}

// The last statement is an expression, and nothing is returned

function repairLastValue(statements: readonly Node[], index: SyntaxIndex, text: string): TreeRepair | undefined {
  const last = statements.findLast((statement) => statement.type !== 'FunctionDeclaration');
  if (last === undefined || index.returns.some(isTopLevel)) return undefined;
  if (last.type === 'VariableDeclaration') return repairLastConstant(last, index, text);
  if (last.type !== 'ExpressionStatement' || !isLastValue(last.expression, index)) return undefined;
  const message = 'The script has no `return`; the value of its last statement is returned.';
  return treeRepair('repair-last-value', message, [{ start: last.start, end: last.start, text: 'return ' }]);
}

/**
 * A result, or parts of one, that the script stores and never uses, as the last statement: `const user = await
 * tools.getUser({ id })`, `const { name, mail } = await tools.getUser({ id })`.
 */
function repairLastConstant(
  last: NodeOf<'VariableDeclaration'>,
  index: SyntaxIndex,
  text: string,
): TreeRepair | undefined {
  const { id, init } = last.declarations.at(-1)!;
  const names = patternVariables(id).map(({ name }) => name);
  if (init === null || names.length === 0 || names.some((name) => index.references.has(name))) return undefined;
  const value = innerExpression(init);
  if (value.type !== 'AwaitExpression' || !isLastValue(value, index)) return undefined;
  const end = text.charAt(last.end - 1) === ';' ? ' ' : '; ';
  const list = names.join(', ');
  const returned = id.type === 'Identifier' ? list : id.type === 'ArrayPattern' ? `[${list}]` : `{ ${list} }`;
  const message = `The script has no \`return\`; the value of \`${returned}\` is returned.`;
  return treeRepair('repair-last-value', message, [
    { start: last.end, end: last.end, text: `${end}return ${returned};` },
  ]);
}

// Edits

function callAtEnd(call: string, text: string): Edit {
  return { start: text.length, end: text.length, text: `\nreturn await ${call};` };
}

function isLast(statement: Node, statements: readonly Node[]): boolean {
  return statements.slice(statements.indexOf(statement) + 1).every(({ type }) => type === 'FunctionDeclaration');
}

function beforeSemicolon(statement: Node, text: string): number {
  return text.charAt(statement.end - 1) === ';' ? statement.end - 1 : statement.end;
}

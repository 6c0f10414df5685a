import { walk, type Identifier, type Node, type NodeOf, type Program, type Visit } from './syntax.js';

/** The data about a script that the rules need, collected in one pass and in source order. */
export interface SyntaxIndex {
  readonly program: Program;
  /** Calls, `new` and tagged templates. */
  readonly calls: readonly Visit[];
  /** Imports, exports, meta properties and decorators. The policy rejects most of these constructs. */
  readonly modular: readonly Visit[];
  readonly returns: readonly Visit[];
  /** Uses of `await` and `for await`. */
  readonly awaits: readonly Visit[];
  /** For each name, the number of members with this name in the script's own objects and classes. */
  readonly methods: ReadonlyMap<string, number>;
  /** Object and array patterns. */
  readonly patterns: readonly Visit[];
  /** Regular expressions that Node cannot compile. */
  readonly badPatterns: readonly Visit[];
  /** Integers that a number cannot hold exactly. */
  readonly inexactIntegers: readonly NodeOf<'Literal'>[];
  readonly enums: readonly NodeOf<'TSEnumDeclaration'>[];
  readonly namespaces: readonly NodeOf<'TSModuleDeclaration'>[];
  /** The number of identifiers of all kinds, including the names of members and types. */
  readonly identifierCount: number;
  /** The declarations of each name: variables, parameters, functions, classes. */
  readonly declared: ReadonlyMap<string, readonly Visit[]>;
  /** Names that are declared as existing, without a value or a body: `declare const tools: any`. */
  readonly ambient: ReadonlyMap<string, Visit>;
  /** The identifiers that read or write each name. */
  readonly references: ReadonlyMap<string, readonly Visit[]>;
  /** Whether later scripts of a program can use the script's variables. */
  readonly isCell: boolean;
}

type Mutable<Index> = {
  -readonly [Name in keyof Index]: Index[Name] extends readonly (infer Item)[]
    ? Item[]
    : Index[Name] extends ReadonlyMap<infer Key, readonly (infer Item)[]>
      ? Map<Key, Item[]>
      : Index[Name] extends ReadonlyMap<infer Key, infer Value>
        ? Map<Key, Value>
        : Index[Name];
};

/**
 * Indexes a script. `keptNames`: the variables of earlier scripts, if the script belongs to a program; they count as
 * declared.
 */
export function indexSyntax(program: Program, keptNames?: readonly string[]): SyntaxIndex {
  const index: Mutable<SyntaxIndex> = {
    program,
    calls: [],
    modular: [],
    returns: [],
    awaits: [],
    methods: new Map(),
    patterns: [],
    badPatterns: [],
    inexactIntegers: [],
    enums: [],
    namespaces: [],
    identifierCount: 0,
    declared: new Map(),
    ambient: new Map(),
    references: new Map(),
    isCell: keptNames !== undefined,
  };
  walk(program, (visit) => indexVisit(index, visit));
  for (const name of keptNames ?? []) if (!index.declared.has(name)) index.declared.set(name, []);
  return index;
}

/** Whether a number loses digits of the literal. A literal as a number prints it, with zeros at its end, loses none. */
function isInexactInteger({ value, raw }: NodeOf<'Literal'>): boolean {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || !Number.isInteger(value)) return false;
  const digits = raw?.replaceAll('_', '') ?? '';
  return /^\d+$/u.test(digits) && digits !== String(value) && BigInt(digits) !== BigInt(value);
}

function indexVisit(index: Mutable<SyntaxIndex>, visit: Visit): void {
  switch (visit.node.type) {
    case 'CallExpression':
    case 'NewExpression':
    case 'TaggedTemplateExpression':
      index.calls.push(visit);
      break;
    case 'ImportDeclaration':
    case 'ImportExpression':
    case 'TSImportEqualsDeclaration':
    case 'TSExportAssignment':
    case 'TSNamespaceExportDeclaration':
    case 'ExportNamedDeclaration':
    case 'ExportDefaultDeclaration':
    case 'ExportAllDeclaration':
    case 'MetaProperty':
    case 'Decorator':
      index.modular.push(visit);
      break;
    case 'ObjectPattern':
    case 'ArrayPattern':
      index.patterns.push(visit);
      break;
    case 'ReturnStatement':
      index.returns.push(visit);
      break;
    case 'AwaitExpression':
      index.awaits.push(visit);
      break;
    case 'ForOfStatement':
      if (visit.node.await) index.awaits.push(visit);
      break;
    case 'Literal':
      if ('regex' in visit.node && visit.node.value === null) index.badPatterns.push(visit);
      if (isInexactInteger(visit.node)) index.inexactIntegers.push(visit.node);
      break;
    case 'TSEnumDeclaration':
      index.enums.push(visit.node);
      break;
    case 'TSModuleDeclaration':
      index.namespaces.push(visit.node);
      break;
    case 'Identifier':
      index.identifierCount++;
      if (isMemberKey(visit)) index.methods.set(visit.node.name, (index.methods.get(visit.node.name) ?? 0) + 1);
      if (isAmbient(visit)) index.ambient.set(visit.node.name, visit);
      else recordName(visit, visit.node, index.declared, index.references);
      break;
    default:
  }
}

function isMemberKey({ key, parent }: Visit): boolean {
  if (key !== 'key') return false;
  const { type } = parent!.node;
  if (type === 'Property') return parent?.parent?.node.type === 'ObjectExpression';
  return type === 'MethodDefinition' || type === 'PropertyDefinition';
}

function isAmbient({ key, parent }: Visit): boolean {
  if (key !== 'id') return false;
  if (parent?.node.type === 'TSDeclareFunction') return true;
  const holder = parent?.node.type === 'VariableDeclarator' ? parent.parent?.node : parent?.node;
  return (holder as { declare?: boolean | undefined } | undefined)?.declare === true;
}

export function isFunction(node: Node): boolean {
  return (
    node.type === 'FunctionDeclaration' || node.type === 'FunctionExpression' || node.type === 'ArrowFunctionExpression'
  );
}

function recordName(
  visit: Visit,
  node: Identifier,
  declared: Map<string, Visit[]>,
  references: Map<string, Visit[]>,
): void {
  const use = nameUse(visit);
  if (use === undefined) return;
  const names = use === 'declared' ? declared : references;
  const visits = names.get(node.name);
  if (visits === undefined) names.set(node.name, [visit]);
  else visits.push(visit);
}

/**
 * The role of an identifier: the declaration of a variable, or the use of a variable. Undefined for the name of a
 * member or a label.
 */
export function nameUse(visit: Visit): 'declared' | 'referenced' | undefined {
  if (isMemberName(visit)) return undefined;
  return isBinding(visit) ? 'declared' : 'referenced';
}

function isMemberName({ key, parent }: Visit): boolean {
  switch (parent?.node.type) {
    case 'MemberExpression':
      return key === 'property' && !parent.node.computed;
    case 'Property':
    case 'MethodDefinition':
    case 'PropertyDefinition':
      return key === 'key' && !parent.node.computed;
    case 'ImportSpecifier':
      return key === 'imported';
    case 'LabeledStatement':
    case 'BreakStatement':
    case 'ContinueStatement':
    case 'TSPropertySignature':
    case 'TSMethodSignature':
    case 'TSEnumMember':
      return true;
    default:
      return false;
  }
}

function isBinding({ key, parent }: Visit): boolean {
  switch (parent?.node.type) {
    case 'VariableDeclarator':
    case 'ClassDeclaration':
    case 'ClassExpression':
    case 'TSEnumDeclaration':
    case 'TSModuleDeclaration':
      return key === 'id';
    case 'FunctionDeclaration':
    case 'FunctionExpression':
    case 'ArrowFunctionExpression':
    case 'TSDeclareFunction':
      return key === 'id' || key === 'params';
    case 'CatchClause':
      return key === 'param';
    case 'AssignmentPattern':
      return key === 'left';
    case 'Property':
      return key === 'value' && parent.parent?.node.type === 'ObjectPattern';
    case 'ArrayPattern':
    case 'ImportSpecifier':
    case 'ImportDefaultSpecifier':
    case 'ImportNamespaceSpecifier':
    case 'RestElement':
    case 'TSParameterProperty':
      return true;
    default:
      return false;
  }
}

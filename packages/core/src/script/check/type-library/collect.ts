import { parseSync } from 'oxc-parser';
import type { Node, NodeOf } from '../../syntax/syntax.js';
import type { LibraryFile } from './compiler-library.js';
import { type Library, type Member, type MergedInterface, type Value, emptyLibrary } from './library.js';

/**
 * Adds the global declarations of a file to `library`. In a module, only its `global` declarations count. This function
 * ignores classes, because TypeScript declares the language's own classes as a variable and interfaces.
 */
export function collectDeclarations(library: Library, { name, text }: LibraryFile): void {
  const { program, comments, errors } = parseSync(name, text, { lang: 'dts' });
  if (errors.length > 0) throw new Error(`${name} is not a valid declaration file; correct it: ${errors[0]!.message}`);
  const source = blankOut(text, comments);
  const isModule = program.body.some(({ type }) => type === 'ExportNamedDeclaration');
  if (!isModule) collectStatements(library, program.body, source);
  else for (const global of program.body.filter(isGlobalBlock)) collectStatements(library, global.body.body, source);
}

type GlobalBlock = NodeOf<'TSModuleDeclaration'> & { body: NodeOf<'TSModuleBlock'> };

function isGlobalBlock(node: Node): node is GlobalBlock {
  return node.type === 'TSModuleDeclaration' && node.kind === 'global';
}

/** Replaces comments with spaces, so that positions stay valid. */
function blankOut(text: string, ranges: readonly { start: number; end: number }[]): string {
  let blanked = '';
  let done = 0;
  for (const { start, end } of ranges) {
    blanked += text.slice(done, start) + ' '.repeat(end - start);
    done = end;
  }
  return blanked + text.slice(done);
}

function collectStatements(library: Library, statements: readonly Node[], source: string): void {
  for (const statement of statements) {
    const node = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    if (node !== null) collectStatement(library, node, source);
  }
}

function collectStatement(library: Library, node: Node, source: string): void {
  if (node.type === 'TSInterfaceDeclaration') collectInterface(library, node, source);
  else if (node.type === 'TSTypeAliasDeclaration') library.aliases.set(node.id.name, nodeLine(node, source));
  else if (node.type === 'VariableDeclaration') library.values.push(...declaredValues(node, source));
  else if (node.type === 'TSDeclareFunction') {
    library.values.push({ name: node.id!.name, text: nodeLine(node, source), typeName: undefined });
  } else if (node.type === 'TSModuleDeclaration') collectNamespace(library, node, source);
  else if (node.type !== 'EmptyStatement' && node.type !== 'ClassDeclaration') {
    throw new Error(`collect.ts does not support declarations of the kind ${node.type}; add this kind`);
  }
}

function collectNamespace(library: Library, node: NodeOf<'TSModuleDeclaration'>, source: string): void {
  if (node.id.type !== 'Identifier' || node.body?.type !== 'TSModuleBlock') {
    throw new Error('collect.ts does not support this form of a namespace; add this form');
  }
  const { name } = node.id;
  const namespace = library.namespaces.get(name) ?? emptyLibrary();
  library.namespaces.set(name, namespace);
  collectStatements(namespace, node.body.body, source);
}

/**
 * Merges a declaration into its interface. A later declaration's members come first, because the compiler tries the
 * overloads of merged interfaces in this order. Keeps the longest list of type parameters, which contains the defaults.
 */
function collectInterface(library: Library, node: NodeOf<'TSInterfaceDeclaration'>, source: string): void {
  const found = library.interfaces.get(node.id.name);
  const merged: MergedInterface = found ?? { name: node.id.name, parameters: '', bases: [], members: [] };
  library.interfaces.set(merged.name, merged);
  const parameters = node.typeParameters ? nodeLine(node.typeParameters, source) : '';
  if (parameters.length > merged.parameters.length) merged.parameters = parameters;
  const bases = node.extends.map((base) => nodeLine(base, source));
  merged.bases = [...new Set([...merged.bases, ...bases])];
  const members = node.body.body.map((member) => libraryMember(member, source));
  const known = new Set(members.map(({ text }) => text));
  merged.members = [...members, ...merged.members.filter(({ text }) => !known.has(text))];
}

function libraryMember(node: Node, source: string): Member {
  return { name: memberName(node, source), text: nodeLine(node, source), typeName: memberTypeName(node) };
}

function memberName(node: Node, source: string): string | undefined {
  if (node.type !== 'TSPropertySignature' && node.type !== 'TSMethodSignature') return undefined;
  const name = nodeLine(node.key, source);
  if (node.computed) return `[${name}]`;
  return node.key.type === 'Literal' ? String(node.key.value) : name;
}

function memberTypeName(node: Node): string | undefined {
  return node.type === 'TSPropertySignature' ? referencedTypeName(node.typeAnnotation?.typeAnnotation) : undefined;
}

function referencedTypeName(type: Node | undefined): string | undefined {
  if (type?.type !== 'TSTypeReference' || type.typeName.type !== 'Identifier') return undefined;
  return type.typeName.name;
}

function declaredValues(node: NodeOf<'VariableDeclaration'>, source: string): Value[] {
  return node.declarations.map(({ id }) => {
    if (id.type !== 'Identifier')
      throw new Error('collect.ts does not support a declared variable without a name; add this form');
    const typeName = referencedTypeName(id.typeAnnotation?.typeAnnotation);
    return { name: id.name, text: `${node.kind} ${nodeLine(id, source)}`, typeName };
  });
}

/** The text of a node on one line. Declarations contain no string literals with runs of spaces. */
function nodeLine({ start, end }: { start: number; end: number }, source: string): string {
  const line = source
    .slice(start, end)
    .replace(/\s+/gu, ' ')
    .replace(/^declare /u, '')
    .replace(/[;,] ?$/u, '');
  return line
    .replace(/([([{<]) /gu, '$1')
    .replace(/[,;]? ?([)\]}])|,? (>)(?!=)/gu, '$1$2')
    .trim();
}

import { isBuiltin } from 'node:module';
import type { SyntaxIndex } from './syntax-index.js';
import type { NodeOf } from './syntax.js';
import type { ToolFit } from './tool-fit.js';

/** A name that an import declares, and its meaning: `rf` for `tools.readFile`. */
export interface ImportBinding {
  readonly local: string;
  readonly path: string;
}

/** Module names under which other systems offer their tools. Packages of other names contain functions of their own. */
const MODULES = new Set(['codemode', 'functions', 'mcp', 'servers', 'tool', 'tools', 'toolscript']);

/**
 * The declarations that replace an import whose names are all tools or contain tools. Names that can only mean their
 * tools need no declaration. Undefined for any other import.
 */
export function toolBindings(
  { source, specifiers }: NodeOf<'ImportDeclaration'>,
  index: SyntaxIndex,
  fit: ToolFit,
): readonly ImportBinding[] | undefined {
  const path = segmentsOf(source.value);
  const isOfTools = isOwnFile(source.value) || MODULES.has(path[0] ?? '');
  const from = { namespace: path.at(-1) ?? '', isOfTools };
  // `readFile` of Node is a different function from the tool of that name.
  if (isBuiltin(source.value)) return undefined;
  const bindings: ImportBinding[] = [];
  for (const specifier of specifiers) {
    const local = specifier.local.name;
    const meant = pathOf(specifier, from, fit);
    if (meant === undefined) return undefined;
    const isPlain = local === 'tools' || meant === fit.holder(local) || meant === fit.fitting([local]);
    if (isPlain) continue;
    // A declaration in place of an import does not exist before its line, unlike the import.
    const isEarly = (index.references.get(local) ?? []).some(({ node }) => node.start < specifier.start);
    if (isEarly) return undefined;
    bindings.push({ local, path: meant });
  }
  return bindings;
}

/** The segments `servers` and `google-drive` of `./servers/google-drive/index.js`. */
function segmentsOf(module: string): string[] {
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
  /** All names of the module are tools. A package with a namespace's name offers only the tools of that namespace. */
  readonly isOfTools: boolean;
}

function pathOf(
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

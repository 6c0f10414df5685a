import type { HeldCalls } from '../../protocol/index.js';
import type { CellScope, ProgramHead, ScopedVariable } from './program-scope.js';

/** Adds to the variables in scope the tools that their functions may call, also through other variables. */
export function withHeldTools({ cells, ...head }: ProgramHead, held: readonly HeldCalls[]): ProgramHead {
  return { ...head, cells: cellsWithTools(cells, held) };
}

function cellsWithTools(cells: readonly CellScope[], held: readonly HeldCalls[]): CellScope[] {
  const sources = cells.flatMap((scope) => scope.sources);
  const holders = new Map<string, Set<string>>();
  for (const variable of cells.flatMap(({ variables }) => variables))
    if (holdsFunctions(variable, sources)) holders.set(variable.name, new Set(variable.tools));
  const heldCallTools = ({ tools, used }: HeldCalls) => [
    ...tools,
    ...used.flatMap((name) => [...(holders.get(name) ?? [])]),
  ];
  const grows = (statement: HeldCalls) => {
    const tools = heldCallTools(statement);
    return statement.holders.filter((name) => addAll(holders.get(name), tools)).length > 0;
  };
  while (held.filter(grows).length > 0);
  const withTools = ({ tools: _before, ...variable }: ScopedVariable): ScopedVariable => {
    const tools = [...(holders.get(variable.name) ?? [])].toSorted();
    return tools.length === 0 ? variable : { ...variable, tools };
  };
  return cells.map((scope) => ({ ...scope, variables: scope.variables.map(withTools) }));
}

/** Returns true if the set has grown. */
function addAll(set: Set<string> | undefined, added: Iterable<string> | undefined): boolean {
  if (set === undefined || added === undefined) return false;
  const { size } = set;
  for (const each of added) set.add(each);
  return set.size > size;
}

/** False for data: its type names no function, and no type that could have one. */
function holdsFunctions({ type, isDeclared }: ScopedVariable, sources: readonly string[]): boolean {
  if (type === undefined || isDeclared === true) return true;
  const withoutTexts = type.replaceAll(/"(?:[^"\\]|\\.)*(?:"|\\?$)/gsu, '').replaceAll(/(?<![$\w])[$\w]+\??:/gu, '');
  const isData = (name: string) => DATA_TYPES.has(name) || /^\d/u.test(name) || isDataType(name, sources);
  return !(withoutTexts.match(/=>|\(|[$\w]+/gu) ?? []).every(isData);
}

function isDataType(name: string, sources: readonly string[]): boolean {
  const source = sources.findLast((text) => /^(?:interface|type)\s+([$\w]+)/u.exec(text)?.[1] === name);
  return source !== undefined && !/=>|\(/u.test(source);
}

const DATA_TYPES: ReadonlySet<string> = new Set(
  [
    'string number boolean bigint symbol null undefined true false',
    'readonly Record Map Set Array ReadonlyArray Date Promise',
  ].flatMap((names) => names.split(' ')),
);

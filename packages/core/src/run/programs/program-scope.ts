import type { SandboxHeap, TopLevel } from '../../protocol/index.js';
import type { KeptVariables, PrintedType } from '../../script/check/index.js';

/** The head of a heap: the host's data about its program, as plain JSON. */
export interface ProgramHead {
  readonly version: typeof HEAD_VERSION;
  /** The number of the script that left the heap. */
  readonly cell: number;
  readonly heapBytes: number;
  /** The variables that each script left in scope, the oldest script first. */
  readonly cells: readonly CellScope[];
}

export const HEAD_VERSION = 1;

export interface CellScope {
  readonly cell: number;
  readonly variables: readonly ScopedVariable[];
  /** The sources of types, classes and enums. */
  readonly sources: readonly string[];
}

export interface ScopedVariable {
  readonly name: string;
  /** As TypeScript prints it; undefined if the type is not known. */
  readonly type?: string | undefined;
  /** Whether `sources` declares the variable. */
  readonly isDeclared?: true | undefined;
  /** The tools that functions in the variable may call. */
  readonly tools?: readonly string[] | undefined;
}

/** A longer type is not written down. */
const MAX_TYPE_UNITS = 10_000;

/** Declares exactly the variables that are in scope, for the compiler and the type checker. */
export function keptVariables(head: ProgramHead | undefined): KeptVariables {
  const cells = head?.cells ?? [];
  // Each script has a block of its own, so that a later script may declare a name again.
  const before = cells.map(
    ({ variables, sources }) => `{${sources.join('\n')}\n${variables.map(declaration).join('')}`,
  );
  const names = new Set(cells.flatMap(({ variables }) => variables.map(({ name }) => name)));
  const variables = cells.flatMap((scope) => scope.variables);
  const tools = variables.flatMap(({ name, tools: of }) => (of === undefined ? [] : [[name, of] as const]));
  return { names: [...names], tools, before: before.join(''), after: '}'.repeat(cells.length) };
}

function declaration({ name, type = 'any', isDeclared }: ScopedVariable): string {
  return isDeclared === true ? '' : `let ${name}=0 as any as ${type};`;
}

/** The variables of a script that are in scope after it, in order, without a value that was too large to return. */
export function newVariables({ variables }: TopLevel, { names }: SandboxHeap, cell: number): TopLevel['variables'] {
  return variables.filter(({ name }) => names[name] === cell);
}

/**
 * The head after a script. `types`: the types of `newVariables`, then that of the value that was too large.
 * `handleTypes`: the types of the results that were too large, by name.
 */
// oxlint-disable-next-line max-params
export function nextHead(
  head: ProgramHead | undefined,
  cell: number,
  declared: TopLevel,
  heap: SandboxHeap,
  types: readonly PrintedType[],
  handleTypes: ReadonlyMap<string, string>,
): ProgramHead {
  const { names, kept, heapBytes } = heap;
  const own = newVariables(declared, heap, cell);
  const variables = own.map(({ name, text }, index): ScopedVariable => {
    return text === undefined ? { name, type: boundedType(types[index]) } : { name, type: text, isDeclared: true };
  });
  if (kept !== undefined && names[kept] === cell) variables.push({ name: kept, type: boundedType(types[own.length]) });
  for (const [name, type] of handleTypes)
    if (names[name] === cell) variables.push({ name, type: boundedType(type) ?? ANY_HANDLE });
  const sources = [...declared.types, ...own.flatMap(({ text }) => text ?? [])];
  const earlier = (head?.cells ?? []).map((scope) => ({
    ...scope,
    variables: scope.variables.filter(({ name }) => names[name] === scope.cell),
  }));
  const cells = [...earlier, { cell, variables, sources }].filter(
    (scope) => scope.variables.length + scope.sources.length > 0,
  );
  return { version: HEAD_VERSION, cell, heapBytes, cells };
}

/** The type of a result whose own type is not known, or too long. */
const ANY_HANDLE = 'LargeResult<any>';

function boundedType(type: PrintedType): PrintedType {
  return type === undefined || type.length > MAX_TYPE_UNITS ? undefined : type;
}

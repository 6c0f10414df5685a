// The scripts of a program share their top-level variables, functions and classes. Each script (a "cell") runs inside
// `with (scope)`: the scope has one accessor for each variable that earlier cells declared and initialised. An accessor
// reads and writes the variable of the cell that declared it, so closures, constants and assignments behave as in one
// program. A scope is frozen: a cell that declares a name again makes another variable, and earlier closures keep theirs.
import {
  create,
  defineProperty,
  freeze,
  getOwnPropertyDescriptor,
  keys,
  stringify,
  TypeError,
} from '../primordials.js';
import { endCell, resetCalls } from './calls.js';
import { dropContext } from './context.js';
import { beginCellErrors } from './errors.js';
import { resetOutput } from './output.js';
import { takeHandles } from './large-results.js';
import { keepPositions } from './positions.js';
import { beginCellStacks } from './stacks.js';
import { start, takeLargeValue } from './script-end.js';
import { dropTimers } from './timers.js';
import { makeTools } from './tools-object.js';

/** How to read a variable, and to write it unless it is constant. `isOfBlock`: a `var` in a block. */
type Binding = readonly [read: () => unknown, write?: ((value: unknown) => void) | undefined, isOfBlock?: 1];
type Bindings = Record<string, Binding>;
type Scope = Record<string, unknown>;
type CellFactory = (scope: Scope, declare: (bindings: Bindings) => void) => () => Promise<unknown>;

/** The tools may differ from those of the previous cell, and closures of that cell must see the same tools. */
let tools: object | undefined;
const readTools = freeze((): object => (tools ??= makeTools()));

let scope: Scope = create(null) as Scope;
/** The number of the cell that declared each variable in scope. */
let owners: Record<string, number> = create(null) as Record<string, number>;
let declared: Bindings = create(null) as Bindings;
let currentCell = 0;

/** Starts a cell in the state that the previous cell left. Calls of that cell that are pending never settle. */
export function startCell(factory: CellFactory): void {
  start(
    factory(scope, (bindings) => {
      declared = bindings;
    }),
  );
}

/** Replaces what belongs to one script. */
export function beginCell(cell: number): void {
  currentCell = cell;
  resetCalls();
  resetOutput();
  dropContext();
  dropTimers();
  takeHandles();
  beginCellErrors(cell);
  beginCellStacks(cell);
  declared = create(null) as Bindings;
  if (cell === 1) scope = freeze(newScope());
}

function newScope(): Scope {
  const made = create(null) as Scope;
  defineProperty(made, 'tools', { get: readTools, enumerable: false, configurable: false });
  return made;
}

/**
 * Ends the cell: adds its variables to the scope, except those that were never initialised and those with the names of
 * globals. Returns JSON: the variables in scope, each with the number of its cell, the name of a value that was too
 * large to return, and the names of results that were too large to receive.
 */
export function finishCell(): string {
  endCell();
  tools = undefined;
  keepPositions(currentCell);
  const next = newScope();
  const nextOwners = create(null) as Record<string, number>;
  const names = keys(declared);
  for (let index = 0; index < names.length; index++) addVariable(next, nextOwners, names[index]!);
  const large = takeLargeValue();
  const kept = large === undefined ? undefined : addResult(next, nextOwners, large.value);
  const handles = create(null) as Record<string, readonly [call: number, at: readonly string[]]>;
  const made = takeHandles();
  for (let index = 0; index < made.length; index++) {
    const { call, at, handle } = made[index]!;
    handles[addResult(next, nextOwners, handle)] = [call, at];
  }
  const earlier = keys(owners);
  for (let index = 0; index < earlier.length; index++) {
    const name = earlier[index]!;
    if (nextOwners[name] !== undefined) continue;
    defineProperty(next, name, getOwnPropertyDescriptor(scope, name)!);
    nextOwners[name] = owners[name]!;
  }
  declared = create(null) as Bindings;
  owners = nextOwners;
  scope = freeze(next);
  return stringify({ names: owners, kept, handles });
}

function addVariable(next: Scope, nextOwners: Record<string, number>, name: string): void {
  if (getOwnPropertyDescriptor(globalThis, name) !== undefined) return;
  const [read, write, isOfBlock] = declared[name]!;
  try {
    if (read() === undefined && isOfBlock === 1) return;
  } catch {
    // The script ended before it initialised the variable.
    return;
  }
  const set = (): never => {
    throw new TypeError("'" + name + "' is a constant of an earlier script");
  };
  defineProperty(next, name, {
    get: freeze(read),
    set: freeze(write ?? set),
    enumerable: true,
    configurable: false,
  });
  nextOwners[name] = currentCell;
}

/** Adds a value that the script did not name, and returns its name. */
function addResult(next: Scope, nextOwners: Record<string, number>, value: unknown): string {
  let name = 'result' + currentCell;
  while (nextOwners[name] !== undefined) name += '_';
  declared[name] = [() => value];
  addVariable(next, nextOwners, name);
  return name;
}

import {
  scriptFailure,
  StorageLimitError,
  type CompiledScript,
  type Diagnostic,
  type HeapStore,
  type Outcome,
  type SandboxHeap,
  type SandboxRuntime,
  type ScopeEntry,
  type ScriptFailure,
  type StoredHeap,
  type TopLevel,
} from '../../protocol/index.js';
import { callIdIndex } from '../../calls/facade/index.js';
import type { CellStart, SessionCell } from '../../calls/session/index.js';
import type { KeptVariables, PrintedType } from '../../script/check/index.js';
import { withHeldTools } from './held-tools.js';
import { HEAD_VERSION, keptVariables, newVariables, nextHead, type ProgramHead } from './program-scope.js';

/** A script of a program, from its start to the end of its outcome. */
export interface ProgramCell extends SessionCell {
  readonly kept: KeptVariables;
  readonly head: ProgramHead | undefined;
  /** A note about a heap that this version cannot use. */
  readonly note: Diagnostic | undefined;
}

export interface ProgramRequest {
  readonly principal: string | undefined;
  readonly heapId: string | undefined;
  readonly threadId: string | undefined;
}

/** Prints the types of a script's variables at its end. */
export type PrintTypes = (declared: TopLevel, value: string | undefined) => Promise<readonly PrintedType[]>;

interface ProgramEnd {
  readonly script: CompiledScript;
  readonly principal: string | undefined;
  readonly print: PrintTypes;
  readonly typeOfResult: TypeOfResult;
}

/** The type of the handle of a tool's result, whose rows are at a path. */
type TypeOfResult = (tool: string, at: readonly string[]) => string;

/** A heap is stored whole again after this number of differences, or if they are larger than the whole. */
const MAX_DELTAS = 16;
const MIN_DELTA_BYTES = 262_144;

/** The programs of a harness: each script starts in the memory that the one before it left. */
export class Programs {
  readonly #heaps: HeapStore;
  readonly #runtime: SandboxRuntime;
  readonly #onFault: (scriptId: string, detail: string) => void;
  readonly #keepImages: (names: readonly string[]) => Promise<void>;

  constructor(parts: {
    heaps: HeapStore;
    runtime: SandboxRuntime;
    onFault: (scriptId: string, detail: string) => void;
    /** Stores the images that a heap needs. */
    keepImages: (names: readonly string[]) => Promise<void>;
  }) {
    this.#heaps = parts.heaps;
    this.#runtime = parts.runtime;
    this.#onFault = parts.onFault;
    this.#keepImages = parts.keepImages;
  }

  /** Opens the heap in which a script starts, or returns the reason why the script cannot start. */
  async open({ principal = '', heapId, threadId }: ProgramRequest): Promise<ProgramCell | ScriptFailure> {
    try {
      if (heapId === undefined) {
        const newest = threadId === undefined ? undefined : await this.#heaps.newest(principal, threadId);
        return newCell({ number: 1, parentId: newest?.heapId, threadId });
      }
      const chain = await this.#heaps.read(principal, heapId);
      // defence: heaps-of-the-principal-only
      if (chain.length === 0) return noSuchHeap(heapId);
      return await this.#cellAfter(chain, { heapId, threadId });
    } catch (error) {
      return scriptFailure(
        'StoreError',
        `The variables of earlier scripts could not be read, so nothing has run: ${failureReason(error)}`,
      );
    }
  }

  /** Opens the heap of a script that continues. Without the heap, only a captured script can continue. */
  async reopen(start: CellStart, principal = ''): Promise<ProgramCell> {
    const chain = start.heapId === undefined ? [] : await this.#heaps.read(principal, start.heapId);
    if (chain.length === 0) return newCell(start);
    const cell = await this.#cellAfter(chain, start);
    return { ...cell, start };
  }

  async #cellAfter(
    chain: readonly StoredHeap[],
    { heapId, threadId }: Pick<CellStart, 'heapId' | 'threadId'>,
  ): Promise<ProgramCell> {
    const heap = chain.at(-1)!;
    const head = readHead(heap.head);
    const images = [...((await this.#runtime.images?.()) ?? new Map<string, Uint8Array>()).keys()];
    const isOurs = chain.every((part) => part.images.join() === images.join());
    // defence: heaps-of-this-engine-only
    if (head === undefined || !isOurs) return { ...newCell({ number: 1, parentId: heapId, threadId }), note: FOREIGN };
    const number = head.cell + 1;
    return {
      start: { number, heapId, parentId: heapId, threadId },
      sandbox: { number, heap: { parts: chain.map(({ state }) => state), isBase: isWorthDelta(chain) } },
      kept: keptVariables(head),
      head,
      note: undefined,
      left: undefined,
    };
  }

  /** Stores what a script left, and adds to its outcome what the next script can use. Never rejects. */
  async close<Ended extends Outcome>(
    cell: ProgramCell,
    outcome: Ended,
    { script, principal = '', print, typeOfResult }: ProgramEnd,
  ): Promise<Ended> {
    const { heapId } = cell.start;
    const noted = cell.note === undefined ? outcome : withNote(outcome, cell.note);
    const { left } = cell;
    if (left === undefined) return withoutHeap(noted, heapId);
    const declared = script.topLevel ?? { variables: [], types: [], end: 0 };
    const printed = { ...declared, variables: newVariables(declared, left, cell.start.number) };
    const types = await print(printed, left.kept);
    const next = nextHead(
      cell.head,
      cell.start.number,
      declared,
      left,
      types,
      handleTypes(left, outcome, typeOfResult),
    );
    const head = withHeldTools(next, declared.held ?? []);
    const made = { heapId: `heap_${outcome.scriptId}`.slice(0, 128), principal, head };
    const problem = await this.#add(cell.start, left, made);
    if (problem === undefined) return { ...noted, heap: made.heapId, scope: scopeEntries(head) };
    const current = problem === OVERTAKEN ? await this.#newest(cell.start, principal) : heapId;
    return { ...withNote(noted, problem), heap: current };
  }

  /** Deletes the heaps of a program. */
  delete(threadId: string, principal = ''): Promise<void> {
    return this.#heaps.deleteThread(threadId, { principal });
  }

  /** Adds a heap, or returns the reason why the variables of the script are lost. */
  async #add(
    { parentId, threadId }: CellStart,
    { memory: state, images, isDelta }: SandboxHeap,
    { heapId, principal, head }: { heapId: string; principal: string; head: ProgramHead },
  ): Promise<Diagnostic | undefined> {
    try {
      await this.#keepImages(images);
      const draft = { heapId, parentId, threadId, principal, head: JSON.stringify(head), images, isDelta, state };
      return (await this.#heaps.add(draft)) === 'added' ? undefined : OVERTAKEN;
    } catch (error) {
      if (!(error instanceof StorageLimitError))
        this.#onFault(heapId, `The variables of a script could not be stored: ${String(error)}. Check the store.`);
      return lost(`they could not be stored: ${failureReason(error)}`);
    }
  }

  async #newest({ threadId = '', heapId }: CellStart, principal: string): Promise<string | undefined> {
    try {
      return (await this.#heaps.newest(principal, threadId))?.heapId ?? heapId;
    } catch {
      return heapId;
    }
  }
}

function handleTypes(
  { handles = {} }: SandboxHeap,
  { operations }: Outcome,
  typeOfResult: TypeOfResult,
): ReadonlyMap<string, string> {
  const tools = new Map(operations.map(({ callId, tool }) => [callIdIndex(callId), tool]));
  return new Map(
    Object.entries(handles).map(([name, { callIndex, at }]) => [name, typeOfResult(tools.get(callIndex) ?? '', at)]),
  );
}

function newCell(start: CellStart): ProgramCell {
  const sandbox = { number: start.number };
  return { start, sandbox, kept: keptVariables(undefined), head: undefined, note: undefined, left: undefined };
}

function readHead(text: string): ProgramHead | undefined {
  try {
    const head = JSON.parse(text) as ProgramHead;
    return head.version === HEAD_VERSION ? head : undefined;
  } catch {
    return undefined;
  }
}

function isWorthDelta([whole, ...deltas]: readonly StoredHeap[]): boolean {
  const bytes = deltas.reduce((sum, { state }) => sum + state.length, 0);
  return deltas.length < MAX_DELTAS && bytes < Math.max(whole!.state.length, MIN_DELTA_BYTES);
}

/** The variables that the program's last script added. */
function scopeEntries({ cell, cells }: ProgramHead): ScopeEntry[] {
  const own = cells.find((scope) => scope.cell === cell)?.variables ?? [];
  return own.map(({ name, type = 'unknown', isDeclared }) => ({
    name,
    type: isDeclared === true ? `typeof ${name}` : shownType(type),
  }));
}

/** A constant's type may be its value, which the type checker needs, and a reader does not. */
function shownType(type: string): string {
  try {
    const value: unknown = JSON.parse(type);
    return value === null ? 'null' : typeof value;
  } catch {
    return type;
  }
}

/** The outcome of a script that left no memory for the next one. `heapId`: the heap in which the script started. */
function withoutHeap<Kind extends Outcome>(outcome: Kind, heapId: string | undefined): Kind {
  const note = outcome.status === 'completed' ? NOT_KEPT : ROLLED_BACK;
  if (heapId === undefined) return note === NOT_KEPT ? withNote(outcome, note) : outcome;
  return { ...withNote(outcome, note), heap: heapId };
}

function withNote<Kind extends Outcome>(outcome: Kind, note: Diagnostic): Kind {
  return { ...outcome, diagnostics: [...outcome.diagnostics, note] };
}

function lost(reason: string): Diagnostic {
  return {
    severity: 'warning',
    code: 'variables-lost',
    message: `Later scripts cannot use the variables of this script, because ${reason}`,
  };
}

const OVERTAKEN = lost(
  'another script of the conversation ended first. Its variables are in scope, and this script keeps its result.',
);
const NOT_KEPT: Diagnostic = {
  severity: 'warning',
  code: 'variables-restored',
  message: 'The memory of the script could not be kept when it ended, so all variables are as they were before it.',
};
const ROLLED_BACK: Diagnostic = {
  severity: 'warning',
  code: 'variables-restored',
  message: 'The script did not end by itself, so all variables are as they were before it.',
};
const FOREIGN: Diagnostic = {
  severity: 'warning',
  code: 'variables-dropped',
  message: 'The variables of earlier scripts were dropped, because another version of Toolscript stored them.',
};

function noSuchHeap(heapId: string): ScriptFailure {
  return scriptFailure(
    'HeapNotFoundError',
    `There is no heap ${JSON.stringify(heapId.slice(0, 128))}, so nothing has run: it may have been deleted. Run the script without \`heap\` to start a new program.`,
  );
}

function failureReason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

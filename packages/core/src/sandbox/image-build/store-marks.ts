/**
 * Rewrites the engine so that it marks each page of memory that it changes; see `changed-pages.ts`. After each store
 * comes the store of a 1 at the number of the page.
 *
 * A store needs no mark of its own if each path to it has marked an address that is less than MARK_BYTES before its
 * own: a mark stands for as many bytes after its page. The rewriter proves this by naming values: two addresses with
 * one name differ by a known constant. A second store to the very same address has a mark nevertheless. So a store that
 * changes the map's first byte, which is the mark of the map itself, always sets it again: the engine can change the
 * map, but not without a trace.
 */
import { MARK_BYTES, PAGE_BITS } from '../quickjs/changed-pages.js';
import { WebAssemblyApi } from '../quickjs/webassembly.js';
import { FIRST_BULK, OP, readInstructions, type Instruction } from './instructions.js';
import {
  ByteReader,
  concatBytes,
  readSections,
  SECTION,
  signedLeb,
  unsignedLeb,
  writeSections,
  type WasmSection,
} from './wasm-sections.js';

const INT = 0x7f;
const LONG = 0x7e;
const FLOAT = 0x7d;
const DOUBLE = 0x7c;

/** The type of the stored value and the stored bytes, by opcode from `OP.firstStore`. */
const STORES: readonly (readonly [type: number, bytes: number])[] = [
  [INT, 4],
  [LONG, 8],
  [FLOAT, 4],
  [DOUBLE, 8],
  [INT, 1],
  [INT, 2],
  [LONG, 1],
  [LONG, 2],
  [LONG, 4],
];

interface FunctionType {
  readonly parameters: number;
  readonly results: number;
}

interface ModuleTypes {
  readonly types: readonly FunctionType[];
  /** The type of each function, imported ones first. */
  readonly functions: readonly number[];
  readonly imported: number;
}

/** The code that marks the page of the address on top of the stack. */
const MARK = [OP.intConst, PAGE_BITS, 0x76, OP.intConst, 1, 0x3a, 0, 0];

export function markStores(engine: Uint8Array): Uint8Array {
  const sections = readSections(engine);
  const known = readTypes(sections);
  const rewritten = sections.map((section): WasmSection => {
    if (section.id === SECTION.type) return append(section, [0x60, 2, INT, INT, 0]);
    if (section.id === SECTION.function) return append(section, unsignedLeb(known.types.length));
    if (section.id === SECTION.code) return rewriteCode(section, known);
    return section;
  });
  const binary = writeSections(rewritten);
  if (!WebAssemblyApi.validate(binary))
    throw new Error('the engine with marks is not valid WebAssembly; correct store-marks.ts');
  return binary;
}

function readTypes(sections: readonly WasmSection[]): ModuleTypes {
  const read = <T>(id: number, readOne: (reader: ByteReader) => T): T[] => {
    const reader = new ByteReader(sections.find((section) => section.id === id)?.body ?? Uint8Array.of(0));
    return Array.from({ length: reader.unsigned() }, () => readOne(reader));
  };
  const types = read(SECTION.type, (reader) => {
    reader.byte();
    return { parameters: reader.bytes(reader.unsigned()).length, results: reader.bytes(reader.unsigned()).length };
  });
  const imported = read(SECTION.import, (reader) => {
    reader.name();
    reader.name();
    if (reader.byte() !== 0) throw new Error('the engine imports more than functions; adapt store-marks.ts');
    return reader.unsigned();
  });
  const defined = read(SECTION.function, (reader) => reader.unsigned());
  return { types, functions: [...imported, ...defined], imported: imported.length };
}

/** Adds an entry to a section that is a list. */
function append({ id, body }: WasmSection, entry: readonly number[]): WasmSection {
  const reader = new ByteReader(body);
  const count = reader.unsigned();
  const added = [unsignedLeb(count + 1), body.subarray(reader.offset), entry];
  return { id, body: concatBytes(added.map((part) => Uint8Array.from(part))) };
}

function rewriteCode(section: WasmSection, known: ModuleTypes): WasmSection {
  const reader = new ByteReader(section.body);
  const bodies = Array.from({ length: reader.unsigned() }, () => reader.bytes(reader.unsigned()));
  const rewritten = bodies.map((body, index) => new FunctionMarker(body, index + known.imported, known).rewrite());
  rewritten.push(Uint8Array.from(markRange()));
  const sized = rewritten.flatMap((body) => [Uint8Array.from(unsignedLeb(body.length)), body]);
  return { id: section.id, body: concatBytes([Uint8Array.from(unsignedLeb(rewritten.length)), ...sized]) };
}

/** The body of the function that marks all pages of a range, for copies and fills: (address, bytes) → (). */
function markRange(): number[] {
  const [address, bytes] = [0, 1];
  const returnIfEmpty = [OP.localGet, bytes, 0x45, OP.if, 0x40, OP.return, OP.end];
  const lastPage = [OP.localGet, address, OP.localGet, bytes, OP.intAdd, OP.intConst, 1, OP.intSub];
  const setLast = [...lastPage, OP.intConst, PAGE_BITS, 0x76, OP.localSet, bytes];
  const setFirst = [OP.localGet, address, OP.intConst, PAGE_BITS, 0x76, OP.localSet, address];
  const markOne = [OP.localGet, address, OP.intConst, 1, 0x3a, 0, 0];
  const next = [OP.localGet, address, OP.intConst, 1, OP.intAdd, OP.localTee, address];
  const loop = [OP.loop, 0x40, ...markOne, ...next, OP.localGet, bytes, 0x4d, OP.brIf, 0, OP.end];
  return [0, ...returnIfEmpty, ...setLast, ...setFirst, ...loop, OP.end];
}

/**
 * A value on the stack or in a local: the value that has the number `name`, plus `plus`. Two values with one name
 * differ by a constant. `constant`: the value itself, if it is known.
 */
interface Value {
  readonly name: number;
  readonly plus: number;
  readonly constant?: number;
}

/** A block of code that is open. */
interface Frame {
  readonly opcode: number;
  /** Height of the stack below the block. */
  readonly height: number;
  readonly type: FunctionType;
  /** The locals that the block has set so far. */
  readonly set: Set<number>;
  /** The state at the block's start: its locals, and what was marked. */
  readonly locals: readonly Value[];
  readonly marked: ReadonlyMap<number, readonly number[]>;
}

class FunctionMarker {
  readonly #body: Uint8Array;
  readonly #known: ModuleTypes;
  readonly #code: readonly Instruction[];
  readonly #groups: number;
  readonly #declared: Uint8Array;
  readonly #localCount: number;
  readonly #parts: Uint8Array[] = [];
  #copiedTo: number;
  /** The types of the added locals, by their purpose: the address, the length, or a value of a type. */
  readonly #added = new Map<string, { index: number; type: number }>();
  #names = 0;
  #locals: Value[];
  #stack: Value[] = [];
  /** The marked addresses, on each path to the present instruction: by name, the constants that were added to it. */
  #marked = new Map<number, readonly number[]>();
  readonly #frames: Frame[] = [];

  constructor(body: Uint8Array, index: number, known: ModuleTypes) {
    this.#body = body;
    this.#known = known;
    const reader = new ByteReader(body);
    const type = known.types[known.functions[index]!]!;
    this.#groups = reader.unsigned();
    const start = reader.offset;
    let count = type.parameters;
    for (let group = 0; group < this.#groups; group++) {
      count += reader.unsigned();
      reader.byte();
    }
    this.#localCount = count;
    this.#declared = body.subarray(start, reader.offset);
    this.#copiedTo = reader.offset;
    this.#code = readInstructions(reader);
    this.#locals = Array.from({ length: count }, () => this.#unknown());
    this.#open(OP.block, { parameters: 0, results: type.results });
  }

  rewrite(): Uint8Array {
    const setInLoop = this.#setInLoops();
    for (const instruction of this.#code) this.#step(instruction, setInLoop);
    const added = [...this.#added.values()].flatMap(({ type }) => [1, type]);
    return concatBytes([
      Uint8Array.from(unsignedLeb(this.#groups + this.#added.size)),
      this.#declared,
      Uint8Array.from(added),
      ...this.#parts,
      this.#body.subarray(this.#copiedTo),
    ]);
  }

  /** The locals that each loop sets, by the loop's instruction: a turn of the loop starts with any of their values. */
  #setInLoops(): Map<Instruction, Set<number>> {
    const loops = new Map<Instruction, Set<number>>();
    const open: (Set<number> | undefined)[] = [];
    for (const instruction of this.#code) {
      const { opcode, value } = instruction;
      if (opcode === OP.block || opcode === OP.if) open.push(undefined);
      else if (opcode === OP.loop) {
        const set = new Set<number>();
        loops.set(instruction, set);
        open.push(set);
      } else if (opcode === OP.end) open.pop();
      else if (opcode === OP.localSet || opcode === OP.localTee) for (const set of open) set?.add(value);
    }
    return loops;
  }

  #step(instruction: Instruction, setInLoops: ReadonlyMap<Instruction, Set<number>>): void {
    const { opcode, value } = instruction;
    if (opcode >= OP.firstStore && opcode <= OP.lastStore) return this.#store(instruction);
    if (opcode >= OP.firstLoad && opcode < OP.firstStore) return this.#replace(1, 1);
    if (opcode >= OP.firstNumeric && opcode <= OP.lastNumeric) return this.#compute(opcode);
    switch (opcode) {
      case OP.block:
      case OP.loop:
        this.#open(opcode, this.#blockType(value));
        for (const local of setInLoops.get(instruction) ?? []) this.#set(local, this.#unknown());
        return;
      case OP.if:
        this.#pop();
        return this.#open(opcode, this.#blockType(value));
      case OP.else:
        return this.#otherwise();
      case OP.end:
        return this.#close();
      case OP.br:
      case OP.brTable:
      case OP.return:
      case OP.unreachable:
        this.#stack.length = this.#frames.at(-1)!.height;
        return;
      default:
        return this.#stepPlain(instruction);
    }
  }

  /** An instruction that is no store and does not begin or end a part of the code. */
  #stepPlain(instruction: Instruction): void {
    const { opcode, operation, value } = instruction;
    switch (opcode) {
      case OP.nop:
        return;
      case OP.brIf:
      case OP.drop:
      case OP.globalSet:
        return this.#replace(1, 0);
      case OP.call: {
        const { parameters, results } = this.#known.types[this.#known.functions[value]!]!;
        return this.#replace(parameters, results);
      }
      case OP.callIndirect: {
        const { parameters, results } = this.#known.types[value]!;
        return this.#replace(parameters + 1, results);
      }
      case OP.select:
        return this.#replace(3, 1);
      case OP.localGet:
        this.#stack.push(this.#locals[value]!);
        return;
      case OP.localSet:
        return this.#set(value, this.#pop());
      case OP.localTee: {
        const kept = this.#pop();
        this.#set(value, kept);
        this.#stack.push(kept);
        return;
      }
      case OP.intConst:
        this.#stack.push({ ...this.#unknown(), constant: value });
        return;
      case OP.memoryGrow:
        return this.#replace(1, 1);
      case OP.prefix:
        if (operation >= FIRST_BULK) return this.#copyOrFill(instruction);
        return this.#replace(1, 1);
      case OP.globalGet:
      case OP.memorySize:
      case OP.longConst:
      case OP.floatConst:
      case OP.doubleConst:
        return this.#replace(0, 1);
      default:
        throw new Error(`unknown WebAssembly instruction 0x${opcode.toString(16)}; add it to store-marks.ts`);
    }
  }

  #unknown(): Value {
    return { name: this.#names++, plus: 0 };
  }

  /** Code after a jump never runs; it may take values that are not there. */
  #pop(): Value {
    const isEmpty = this.#stack.length <= (this.#frames.at(-1)?.height ?? 0);
    return (isEmpty ? undefined : this.#stack.pop()) ?? this.#unknown();
  }

  #replace(taken: number, given: number): void {
    for (let index = 0; index < taken; index++) this.#pop();
    for (let index = 0; index < given; index++) this.#stack.push(this.#unknown());
  }

  #set(local: number, value: Value): void {
    this.#locals[local] = value;
    this.#frames.at(-1)!.set.add(local);
  }

  #blockType(value: number): FunctionType {
    if (value >= 0) return this.#known.types[value]!;
    return { parameters: 0, results: value === -64 ? 0 : 1 };
  }

  #open(opcode: number, type: FunctionType): void {
    this.#replace(type.parameters, 0);
    const [locals, marked] = [[...this.#locals], new Map(this.#marked)];
    this.#frames.push({ opcode, height: this.#stack.length, type, set: new Set(), locals, marked });
    this.#replace(0, type.parameters);
  }

  #otherwise(): void {
    const { height, type, locals, marked } = this.#frames.at(-1)!;
    this.#stack.length = height;
    this.#replace(0, type.parameters);
    this.#locals = [...locals];
    this.#marked = new Map(marked);
  }

  /** Jumps lead to the end of a block, from any of its parts; to the end of a loop leads no jump. */
  #close(): void {
    const { opcode, height, type, set, marked } = this.#frames.pop()!;
    this.#stack.length = height;
    this.#replace(0, type.results);
    const outer = this.#frames.at(-1);
    if (outer === undefined) return;
    for (const local of set) outer.set.add(local);
    if (opcode === OP.loop) return;
    for (const local of set) this.#locals[local] = this.#unknown();
    this.#marked = new Map(marked);
  }

  #compute(opcode: number): void {
    if (takesOne(opcode)) return this.#replace(1, 1);
    const right = this.#pop();
    const left = this.#pop();
    const sum = opcode === OP.intAdd ? (plus(left, right.constant) ?? plus(right, left.constant)) : undefined;
    const difference = opcode === OP.intSub && right.constant !== undefined ? plus(left, -right.constant) : undefined;
    this.#stack.push(sum ?? difference ?? this.#unknown());
  }

  #store({ at, end, opcode, value: offset }: Instruction): void {
    const [type, bytes] = STORES[opcode - OP.firstStore]!;
    this.#pop();
    const { name, plus: start } = this.#pop();
    const marked = this.#marked.get(name) ?? [];
    const stored = start + offset;
    if (marked.some((mark) => mark < stored && stored + bytes <= mark + MARK_BYTES)) return;
    const holder = this.#holderOf(name, start, { from: stored, to: stored + bytes });
    if (holder !== undefined) {
      this.#marked.set(name, [...marked, this.#locals[holder]!.plus]);
      return this.#insertAround({ at, end }, [], [OP.localGet, ...unsignedLeb(holder), ...MARK]);
    }
    // The address without its offset stands for the store, if its mark reaches as far.
    const isNear = offset + bytes <= MARK_BYTES;
    this.#marked.set(name, [...marked, isNear ? start : stored]);
    const address = this.#local('address', INT);
    const kept = this.#local(`value ${type}`, type);
    this.#insertAround(
      { at, end },
      [OP.localSet, ...kept, OP.localTee, ...address, OP.localGet, ...kept],
      [OP.localGet, ...address, ...(isNear ? [] : [OP.intConst, ...signedLeb(offset), OP.intAdd]), ...MARK],
    );
  }

  /**
   * The local that holds the store's address, or an address between this one and the place of the store, so that no
   * local needs to be added.
   */
  #holderOf(name: number, start: number, { from, to }: { from: number; to: number }): number | undefined {
    const holder = this.#locals.findIndex(
      (local) => local.name === name && local.plus >= start && local.plus <= from && to <= local.plus + MARK_BYTES,
    );
    return holder < 0 ? undefined : holder;
  }

  #copyOrFill({ at, end }: Instruction): void {
    this.#replace(3, 0);
    const [address, kept, length] = [
      this.#local('address', INT),
      this.#local(`value ${INT}`, INT),
      this.#local('length', INT),
    ];
    const before = [OP.localSet, ...length, OP.localSet, ...kept, OP.localTee, ...address, OP.localGet, ...kept];
    const mark = [OP.call, ...unsignedLeb(this.#known.functions.length)];
    this.#insertAround(
      { at, end },
      [...before, OP.localGet, ...length],
      [OP.localGet, ...address, OP.localGet, ...length, ...mark],
    );
  }

  /** The index of an added local. */
  #local(purpose: string, type: number): number[] {
    const index = this.#added.get(purpose)?.index ?? this.#localCount + this.#added.size;
    this.#added.set(purpose, { index, type });
    return unsignedLeb(index);
  }

  #insertAround(
    { at, end }: Pick<Instruction, 'at' | 'end'>,
    before: readonly number[],
    after: readonly number[],
  ): void {
    this.#parts.push(this.#body.subarray(this.#copiedTo, at), Uint8Array.from(before), this.#body.subarray(at, end));
    this.#parts.push(Uint8Array.from(after));
    this.#copiedTo = end;
  }
}

function plus({ name, plus: before, constant }: Value, added: number | undefined): Value | undefined {
  return added === undefined || constant !== undefined ? undefined : { name, plus: before + added };
}

/** True if a numeric instruction takes one value, and not two. */
function takesOne(opcode: number): boolean {
  return (
    opcode === 0x45 ||
    opcode === 0x50 ||
    (opcode >= 0x67 && opcode <= 0x69) ||
    (opcode >= 0x79 && opcode <= 0x7b) ||
    (opcode >= 0x8b && opcode <= 0x91) ||
    (opcode >= 0x99 && opcode <= 0x9f) ||
    opcode >= 0xa7
  );
}

import type { ByteReader } from './wasm-sections.js';

/** One instruction of a function's code, with those of its immediates that the rewriters read. */
export interface Instruction {
  /** Where the instruction starts and ends in the code. */
  readonly at: number;
  readonly end: number;
  readonly opcode: number;
  /** The second part of the opcode, for the opcodes that start with `OP.prefix`. */
  readonly operation: number;
  /**
   * The last immediate: an index, an offset in memory, a constant or the type of a block. Large constants and those of
   * other types than i32 are left out.
   */
  readonly value: number;
}

export const OP = {
  unreachable: 0x00,
  nop: 0x01,
  block: 0x02,
  loop: 0x03,
  if: 0x04,
  else: 0x05,
  end: 0x0b,
  br: 0x0c,
  brIf: 0x0d,
  brTable: 0x0e,
  return: 0x0f,
  call: 0x10,
  callIndirect: 0x11,
  drop: 0x1a,
  select: 0x1b,
  localGet: 0x20,
  localSet: 0x21,
  localTee: 0x22,
  globalGet: 0x23,
  globalSet: 0x24,
  firstLoad: 0x28,
  firstStore: 0x36,
  lastStore: 0x3e,
  memorySize: 0x3f,
  memoryGrow: 0x40,
  intConst: 0x41,
  longConst: 0x42,
  floatConst: 0x43,
  doubleConst: 0x44,
  firstNumeric: 0x45,
  intAdd: 0x6a,
  intSub: 0x6b,
  lastNumeric: 0xc4,
  prefix: 0xfc,
} as const;

/** The second parts of the opcodes for copying and filling memory. */
const MEMORY_COPY = 10;
const MEMORY_FILL = 11;
/** The second parts below this number are conversions of numbers, without immediates. */
export const FIRST_BULK = 8;

/** Reads the instructions up to the end of the code. Throws for an unknown instruction. */
export function readInstructions(reader: ByteReader): Instruction[] {
  const found: Instruction[] = [];
  while (!reader.done) {
    const at = reader.offset;
    const opcode = reader.byte();
    const operation = opcode === OP.prefix ? reader.unsigned() : 0;
    const value = readImmediates(reader, opcode, operation);
    found.push({ at, end: reader.offset, opcode, operation, value });
  }
  return found;
}

function readImmediates(reader: ByteReader, opcode: number, operation: number): number {
  if (opcode >= OP.firstNumeric && opcode <= OP.lastNumeric) return 0;
  if (opcode >= OP.firstLoad && opcode <= OP.lastStore) {
    reader.unsigned();
    return reader.unsigned();
  }
  switch (opcode) {
    case OP.unreachable:
    case OP.nop:
    case OP.else:
    case OP.end:
    case OP.return:
    case OP.drop:
    case OP.select:
      return 0;
    case OP.block:
    case OP.loop:
    case OP.if:
    case OP.intConst:
      return reader.signed();
    case OP.br:
    case OP.brIf:
    case OP.call:
    case OP.localGet:
    case OP.localSet:
    case OP.localTee:
    case OP.globalGet:
    case OP.globalSet:
      return reader.unsigned();
    case OP.callIndirect: {
      const type = reader.unsigned();
      reader.unsigned();
      return type;
    }
    case OP.brTable:
      reader.skipLeb(reader.unsigned() + 1);
      return 0;
    case OP.memorySize:
    case OP.memoryGrow:
      return reader.byte();
    case OP.longConst:
      reader.skipLeb();
      return 0;
    case OP.floatConst:
      reader.bytes(4);
      return 0;
    case OP.doubleConst:
      reader.bytes(8);
      return 0;
    case OP.prefix:
      if (operation >= FIRST_BULK) reader.bytes(bulkImmediates(operation));
      return 0;
    default:
      throw new Error(`unknown WebAssembly instruction 0x${opcode.toString(16)}; add it to instructions.ts`);
  }
}

function bulkImmediates(operation: number): number {
  if (operation === MEMORY_COPY) return 2;
  if (operation === MEMORY_FILL) return 1;
  throw new Error(`unknown WebAssembly instruction 0xfc ${operation}; add it to instructions.ts`);
}

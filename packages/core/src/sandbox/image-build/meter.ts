/**
 * Rewrites the engine so that the host can stop native loops and observe the engine's own failures.
 *
 * - Every loop of every function but the bytecode interpreter decrements a fuel global and, at zero, calls the import
 *   `env.host_interrupt`, which may throw and thereby unwind the whole WebAssembly stack. Without this, `sort`,
 *   `indexOf`, regular expressions or BigInt arithmetic on large input never reach the engine's own interrupt check.
 *   The interpreter has its own check. Bulk copies and fills consume fuel by their length.
 * - A global (`toolscript_pages`) holds the heap's end, after which memory is preallocated: `memory.grow` moves the
 *   global and, only if necessary, grows the memory. So the host knows how much a script can have touched, and growth
 *   within the preallocated memory costs nothing.
 * - Exported counters record how often the engine ran out of memory (`toolscript_oom`) and out of stack
 *   (`toolscript_stack`), so that a script can neither claim nor hide such a failure.
 */
import { WebAssemblyApi } from '../quickjs/webassembly.js';
import { FIRST_BULK, OP, readInstructions } from './instructions.js';
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

/** Loop iterations between two checks of the clock. */
const FUEL = 16_384;

/** The encoding in `readFacts` of a function type from one i32 to one i32. */
const INT_TO_INT = '127>127';

const STACK_MESSAGE = 'Maximum call stack size exceeded';

export interface MeterReport {
  binary: Uint8Array;
  loops: number;
  meteredLoops: number;
  bulkOperations: number;
}

/** The facts about a module that the rewriter needs before it changes the code. */
interface ModuleFacts {
  importedFunctions: number;
  interruptImport: number;
  /** Number of parameters of each defined function. */
  parameterCounts: number[];
  /** First index of the globals that are added. */
  firstNewGlobal: number;
  exports: Map<string, number>;
  stackMessageAddress: number;
  /** Type index of a function from one integer to one integer. */
  intToIntType: number;
  initialPages: number;
}

export function meterEngine(engine: Uint8Array): MeterReport {
  const sections = readSections(engine);
  const facts = readFacts(sections);
  const report = { loops: 0, meteredLoops: 0, bulkOperations: 0 };
  const rewritten = sections
    .filter((section) => section.id !== 0)
    .map((section): WasmSection => {
      if (section.id === SECTION.global) return addGlobals(section, facts);
      if (section.id === SECTION.function) return addGrowFunction(section, facts);
      if (section.id === SECTION.export) return addExports(section, facts);
      if (section.id === SECTION.code) return rewriteCode(section, facts, report);
      return section;
    });
  const binary = writeSections(rewritten);
  if (!WebAssemblyApi.validate(binary))
    throw new Error('the metered engine is not valid WebAssembly; correct meter.ts');
  return { binary, ...report };
}

const fuelGlobal = (facts: ModuleFacts) => facts.firstNewGlobal;
const memoryCounter = (facts: ModuleFacts) => facts.firstNewGlobal + 1;
const stackCounter = (facts: ModuleFacts) => facts.firstNewGlobal + 2;
const heapPages = (facts: ModuleFacts) => facts.firstNewGlobal + 3;
const growFunction = (facts: ModuleFacts) => facts.importedFunctions + facts.parameterCounts.length;

function readFacts(sections: readonly WasmSection[]): ModuleFacts {
  const section = (id: number) => {
    const found = sections.find((candidate) => candidate.id === id);
    if (found === undefined) throw new Error(`the engine has no section ${id}; adapt meter.ts to this engine`);
    return new ByteReader(found.body);
  };
  const imports = readImports(section(SECTION.import));
  const types = readVector(section(SECTION.type), (reader) => {
    reader.byte();
    const parameters = reader.bytes(reader.unsigned());
    const results = reader.bytes(reader.unsigned());
    return { parameters: parameters.length, shape: `${parameters.join()}>${results.join()}` };
  });
  const parameterCounts = readVector(section(SECTION.function), (reader) => types[reader.unsigned()]?.parameters ?? 0);
  const memory = section(SECTION.memory);
  memory.unsigned();
  const exports = new Map(
    readVector(section(SECTION.export), (reader): [string, number] => {
      const name = reader.name();
      const kind = reader.byte();
      const index = reader.unsigned();
      return [kind === 0 ? name : `${kind}:${name}`, index];
    }),
  );
  return {
    importedFunctions: imports.functions,
    interruptImport: imports.interrupt,
    parameterCounts,
    firstNewGlobal: imports.globals + section(SECTION.global).unsigned(),
    exports,
    stackMessageAddress: findInData(section(SECTION.data), STACK_MESSAGE),
    intToIntType: types.findIndex(({ shape }) => shape === INT_TO_INT),
    initialPages: memory.limits().min,
  };
}

function readVector<T>(reader: ByteReader, read: (reader: ByteReader) => T): T[] {
  return Array.from({ length: reader.unsigned() }, () => read(reader));
}

function readImports(reader: ByteReader): { functions: number; globals: number; interrupt: number } {
  let functions = 0;
  let globals = 0;
  let interrupt = -1;
  readVector(reader, () => {
    reader.name();
    const name = reader.name();
    const kind = reader.byte();
    if (kind === 0) {
      reader.unsigned();
      if (name === 'host_interrupt') interrupt = functions;
      functions++;
    } else if (kind === 3) {
      reader.bytes(2);
      globals++;
    } else {
      if (kind === 1) reader.byte();
      reader.limits();
    }
  });
  if (interrupt < 0) throw new Error('the engine does not import host_interrupt; adapt meter.ts to this engine');
  return { functions, globals, interrupt };
}

/** Address in linear memory of a NUL-terminated text among the active data segments. */
function findInData(reader: ByteReader, text: string): number {
  const wanted = Buffer.from(`${text}\0`);
  const addresses = readVector(reader, () => {
    const kind = reader.unsigned();
    let base = 0;
    if (kind === 0) {
      if (reader.byte() !== 0x41)
        throw new Error('a data segment of the engine has a computed offset; adapt meter.ts to this engine');
      base = reader.unsigned();
      reader.byte();
    }
    const bytes = reader.bytes(reader.unsigned());
    const index = Buffer.from(bytes).indexOf(wanted);
    return index < 0 ? -1 : base + index;
  }).filter((address) => address >= 0);
  if (addresses.length !== 1)
    throw new Error(`the engine does not contain "${text}" exactly once; adapt meter.ts to this engine`);
  return addresses[0]!;
}

function addGlobals(section: WasmSection, facts: ModuleFacts): WasmSection {
  const reader = new ByteReader(section.body);
  const count = reader.unsigned();
  const mutableInt = (initial: number) => Uint8Array.of(0x7f, 1, 0x41, ...signedLeb(initial), 0x0b);
  const rest = section.body.subarray(reader.offset);
  const added = [mutableInt(FUEL), mutableInt(0), mutableInt(0), mutableInt(facts.initialPages)];
  return { id: section.id, body: concatBytes([Uint8Array.from(unsignedLeb(count + added.length)), rest, ...added]) };
}

function addGrowFunction(section: WasmSection, facts: ModuleFacts): WasmSection {
  const reader = new ByteReader(section.body);
  const count = reader.unsigned();
  return {
    id: section.id,
    body: concatBytes([
      Uint8Array.from(unsignedLeb(count + 1)),
      section.body.subarray(reader.offset),
      Uint8Array.from(unsignedLeb(facts.intToIntType)),
    ]),
  };
}

/**
 * The body of the function that replaces `memory.grow`. The function takes a number of pages and returns the heap's old
 * end, or -1 if memory cannot grow.
 */
function growBody(facts: ModuleFacts): Uint8Array {
  const pages = unsignedLeb(heapPages(facts));
  const newEnd = [0x23, ...pages, 0x20, 0, 0x6a];
  const growMemory = [...newEnd, 0x3f, 0, 0x6b, 0x40, 0, 0x41, 0x7f, 0x46, 0x04, 0x40, 0x41, 0x7f, 0x0f, 0x0b];
  const code = [
    ...newEnd,
    0x3f,
    0,
    0x4b,
    0x04,
    0x40,
    ...growMemory,
    0x0b,
    0x23,
    ...pages,
    ...newEnd,
    0x24,
    ...pages,
    0x0b,
  ];
  return Uint8Array.of(0, ...code);
}

function addExports(section: WasmSection, facts: ModuleFacts): WasmSection {
  const reader = new ByteReader(section.body);
  const count = reader.unsigned();
  const entry = (name: string, index: number) => {
    const bytes = Buffer.from(name);
    return Uint8Array.of(...unsignedLeb(bytes.length), ...bytes, 3, ...unsignedLeb(index));
  };
  const added = [
    entry('toolscript_oom', memoryCounter(facts)),
    entry('toolscript_stack', stackCounter(facts)),
    entry('toolscript_pages', heapPages(facts)),
  ];
  return {
    id: section.id,
    body: concatBytes([
      Uint8Array.from(unsignedLeb(count + added.length)),
      section.body.subarray(reader.offset),
      ...added,
    ]),
  };
}

function rewriteCode(section: WasmSection, facts: ModuleFacts, report: Omit<MeterReport, 'binary'>): WasmSection {
  const bodies = readVector(new ByteReader(section.body), (reader) => reader.bytes(reader.unsigned()));
  const interpreter = bodies.reduce((best, body, index) => (body.length > bodies[best]!.length ? index : best), 0);
  const prologues = new Map([
    [definedIndex(facts, 'JS_ThrowOutOfMemory'), countAlways(memoryCounter(facts))],
    [definedIndex(facts, 'JS_ThrowRangeError'), countWhenFirstTextIs(stackCounter(facts), facts.stackMessageAddress)],
  ]);
  const rewritten = bodies.map((body, index) =>
    rewriteFunction(
      body,
      {
        facts,
        metered: index !== interpreter,
        parameters: facts.parameterCounts[index]!,
        prologue: prologues.get(index) ?? [],
      },
      report,
    ),
  );
  rewritten.push(growBody(facts));
  const sized = rewritten.flatMap((body) => [Uint8Array.from(unsignedLeb(body.length)), body]);
  return { id: section.id, body: concatBytes([Uint8Array.from(unsignedLeb(rewritten.length)), ...sized]) };
}

function definedIndex(facts: ModuleFacts, exportName: string): number {
  const index = facts.exports.get(exportName);
  if (index === undefined) throw new Error(`the engine does not export ${exportName}; adapt meter.ts to this engine`);
  return index - facts.importedFunctions;
}

function countAlways(counter: number): number[] {
  const global = unsignedLeb(counter);
  return [0x23, ...global, 0x41, 1, 0x6a, 0x24, ...global];
}

/** The code that adds 1 to the counter if the function's second argument is `address`. */
function countWhenFirstTextIs(counter: number, address: number): number[] {
  const global = unsignedLeb(counter);
  return [0x20, 1, 0x41, ...signedLeb(address), 0x46, 0x23, ...global, 0x6a, 0x24, ...global];
}

/** The code of `fuel -= amount; if (fuel < 1) { fuel = FUEL; host_interrupt() }`. `local` gets the remaining fuel. */
function payFuel(facts: ModuleFacts, amount: readonly number[], local: number): number[] {
  const fuel = unsignedLeb(fuelGlobal(facts));
  const left = unsignedLeb(local);
  const subtract = [0x23, ...fuel, ...amount, 0x6b, 0x22, ...left, 0x24, ...fuel];
  const refill = [0x41, ...signedLeb(FUEL), 0x24, ...fuel, 0x10, ...unsignedLeb(facts.interruptImport), 0x1a];
  return [...subtract, 0x20, ...left, 0x41, 1, 0x48, 0x04, 0x40, ...refill, 0x0b];
}

const payForTurn = (facts: ModuleFacts, local: number) => payFuel(facts, [0x41, 1], local);

/** The code to insert before memory.copy or memory.fill. The length is on top of the stack and stays there. */
function payForLength(facts: ModuleFacts, local: number): number[] {
  const length = unsignedLeb(local);
  return [0x22, ...length, ...payFuel(facts, [0x20, ...length, 0x41, 7, 0x76], local)];
}

interface FunctionRewrite {
  facts: ModuleFacts;
  metered: boolean;
  parameters: number;
  /** The code to run on entry to the function. */
  prologue: readonly number[];
}

function rewriteFunction(body: Uint8Array, rewrite: FunctionRewrite, report: Omit<MeterReport, 'binary'>): Uint8Array {
  const { facts, metered } = rewrite;
  const reader = new ByteReader(body);
  const localGroups = reader.unsigned();
  const localsStart = reader.offset;
  let locals = rewrite.parameters;
  for (let group = 0; group < localGroups; group++) {
    locals += reader.unsigned();
    reader.byte();
  }
  const declared = body.subarray(localsStart, reader.offset);
  const parts: Uint8Array[] = [Uint8Array.from(rewrite.prologue)];
  let copiedTo = reader.offset;
  let usesScratch = false;
  /** Copies the function's code up to `at`, adds code, and continues at `next`. */
  const insert = (at: number, code: readonly number[], next = at) => {
    parts.push(body.subarray(copiedTo, at), Uint8Array.from(code));
    copiedTo = next;
  };
  for (const { at, end, opcode, operation } of readInstructions(reader)) {
    if (opcode === OP.loop) {
      report.loops++;
      if (metered) {
        report.meteredLoops++;
        usesScratch = true;
        insert(end, payForTurn(facts, locals));
      }
    } else if (operation >= FIRST_BULK && metered) {
      report.bulkOperations++;
      usesScratch = true;
      insert(at, payForLength(facts, locals));
    } else if (opcode === OP.memorySize) insert(at, [0x23, ...unsignedLeb(heapPages(facts))], end);
    else if (opcode === OP.memoryGrow) insert(at, [0x10, ...unsignedLeb(growFunction(facts))], end);
  }
  parts.push(body.subarray(copiedTo));
  const extraLocals = usesScratch ? Uint8Array.of(1, 0x7f) : new Uint8Array();
  return concatBytes([
    Uint8Array.from(unsignedLeb(localGroups + (usesScratch ? 1 : 0))),
    declared,
    extraLocals,
    ...parts,
  ]);
}

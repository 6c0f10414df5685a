import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { markStores } from '#core/sandbox/image-build/store-marks.js';
import { MARK_BYTES, PAGE } from '#core/sandbox/quickjs/changed-pages.js';
import type { Slot, SlotHost, SlotSegment } from '#core/sandbox/quickjs/slot.js';
import { WebAssemblyApi } from '#core/sandbox/quickjs/webassembly.js';
import { loadArtefacts } from '#core/sandbox/worker/artefacts.js';
import { makeCase } from '../hostile/bridge-fuzz/fuzz-case.js';
import { Random } from '../hostile/bridge-fuzz/random.js';
import { renderScript } from '../hostile/bridge-fuzz/script-tree.js';
import { SNIPPETS } from '../hostile/bridge-fuzz/snippets.js';
import { openSlot, type InProcessSlot } from './support/in-process-slot.js';
import { isPristine, unmarkedPages } from './support/memory-changes.js';

/** A script that a limit stops has changed no less than one that ends by itself. */
const LIMITS = { memoryMb: 5, computeMs: 60_000, maxStackBytes: 262_144 };
/** Interrupts before a script is stopped: a measure of its work that is the same on every machine. */
const MAX_INTERRUPTS = 200;
const MAX_SETTLED = 6;

let start: number;
let pristine: Buffer;
beforeAll(async () => {
  const { execute } = await loadArtefacts(128);
  ({ start } = execute.header);
  pristine = memoryOf((await openSlot()).slot);
});

const memoryOf = (slot: Slot): Buffer => Buffer.from(slot.inspectMemory());

/** Sandboxes that take one script after the other. */
class Sandboxes {
  #free: InProcessSlot | undefined;
  #interrupts = 0;
  readonly #host: SlotHost = {
    isCancelled: () => (++this.#interrupts > MAX_INTERRUPTS ? 'timeout' : undefined),
    mustMakeRoom: () => false,
  };
  recycled = 0;
  dropped = 0;

  async play(body: string, act: (opened: InProcessSlot, bytecode: Uint8Array) => void): Promise<void> {
    const opened = this.#free ?? (await openSlot(LIMITS, { host: this.#host }));
    this.#interrupts = 0;
    let bytecode: Uint8Array;
    try {
      bytecode = opened.compile(body);
    } catch {
      return;
    }
    this.#free = undefined;
    act(opened, bytecode);
    expect(unmarkedPages(memoryOf(opened.slot), pristine, start), body).toEqual([]);
    if (!opened.slot.recycle()) {
      this.dropped++;
      return;
    }
    this.recycled++;
    const memory = memoryOf(opened.slot);
    expect(isPristine(memory, pristine, start), body).toBe(true);
    expect(isPristine(memory, Buffer.alloc(0), 0, memory.length / PAGE), body).toBe(true);
    this.#free = opened;
  }
}

/** Starts a script, and settles its calls for a while. */
function run({ slot, start: begin }: InProcessSlot, bytecode: Uint8Array): SlotSegment {
  let segment = begin(bytecode);
  for (let call = 0; call < MAX_SETTLED && !segment.ended; call++)
    segment = slot.settle(`[[${call},1,{"text":"${'settled '.repeat(call * 40)}"}]]`, [call], 2 + call, 60_000);
  return segment;
}

describe('the memory of a recycled sandbox is the image, and every page that changed was marked,', () => {
  it('after hostile and ordinary scripts', async () => {
    const sandboxes = new Sandboxes();
    for (const body of SNIPPETS) await sandboxes.play(body, run);
    expect(sandboxes.recycled).toBeGreaterThan(150);
    expect(sandboxes.dropped).toBeGreaterThan(10);
  });

  it('after generated scripts', async () => {
    const sandboxes = new Sandboxes();
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const { statements, ending } = makeCase(new Random(seed));
        await sandboxes.play(renderScript(statements, ending), run);
      }),
      { numRuns: 60 },
    );
    expect(sandboxes.recycled).toBeGreaterThan(10);
  });

  it.each([
    ['grows', 'const list = []; for (let i = 0; i < 40; i++) list.push("ab".repeat(20_000) + i); return list.length'],
    ['frees what it had', 'let list = []; for (let i = 0; i < 3000; i++) list.push({ i }); list = 0; return 1'],
    ['ends in a trap of its memory', 'const list = []; for (;;) list.push("x".repeat(1000) + list.length)'],
    ['ends in a trap of its stack', 'const deep = (n) => 1 + deep(n + 1); return deep(0)'],
    ['is stopped in a loop', 'for (let n = 0; ; n++) Math.sqrt(n)'],
    ['waits', 'await tools.echo({ text: "SECRET".repeat(500) }); return 1'],
  ])('after a script that %s', async (_name, body) => {
    const sandboxes = new Sandboxes();
    for (const other of [body, 'return 1', body])
      await sandboxes.play(other, ({ start: begin }, code) => void begin(code));
  });

  it('after a script that was captured, and after one that was restored', async () => {
    const sandboxes = new Sandboxes();
    const body =
      'const kept = "SECRET".repeat(9000); let gone = kept + "x"; gone = ""; await tools.echo(1); return kept';
    let snapshot: ReturnType<Slot['capture']> | undefined;
    await sandboxes.play(body, (opened, bytecode) => {
      opened.start(bytecode);
      snapshot = opened.slot.capture();
    });
    await sandboxes.play('return 1', (opened) => {
      const { limits, texts } = opened;
      opened.slot.restore(snapshot!, { limits, texts, sliceMs: 60_000, maxMemoryBytes: 1 << 27 });
      expect(opened.read(opened.slot.settle('[[0,1,1]]', [0], 2, 60_000)).end).toMatchObject({ type: 'returned' });
    });
    expect(sandboxes.recycled).toBe(2);
  });

  it('after scripts of a program, each in the memory of the one before', async () => {
    const sandboxes = new Sandboxes();
    const heap: Uint8Array[] = [];
    for (const number of [1, 2, 3])
      await sandboxes.play(`return 'SECRET'.repeat(${number * 3_000})`, (opened) => {
        const cell = { number, heap, isDelta: true };
        opened.slot.openHeap(cell, 1 << 27);

        expect(opened.read(opened.startCell(cell)).end).toMatchObject({ type: 'returned' });
        heap.push(opened.slot.finishCell()!.memory);
      });
    expect(sandboxes.recycled).toBe(3);
  });
});

describe('the map of changed pages', () => {
  it('is not changed without a trace: then the instance is dropped', async () => {
    const { slot } = await openSlot();
    const memory = slot.inspectMemory();
    // As the engine does it: a store into the map, and then the mark of the page that it changed.
    memory[300] = 0;
    memory[0] = 1;
    expect(slot.recycle()).toBe(false);
  });
});

/** Opcodes of code that the tests write. */
const [GET, SET, CONST, ADD, END, LOOP, IF, ELSE, BLOCK, BR_IF] = [
  0x20, 0x21, 0x41, 0x6a, 0x0b, 0x03, 0x04, 0x05, 0x02, 0x0d,
] as const;
const EMPTY = 0x40;
const storeAt = (offset: number) => [0x36, 2, ...leb(offset)];
const leb = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...leb(value >>> 7)]);
const signed = (value: number): number[] => [(value & 127) | 128, ((value >> 7) & 127) | 128, (value >> 14) & 127];

/** An instance of a module with one function of two numbers, and its memory of two pages of 64 KiB. */
function instantiate(code: readonly number[]): { call(a: number, b: number): void; memory: Uint8Array } {
  const section = (id: number, ...body: number[]) => [id, ...leb(body.length), ...body];
  const body = [0, ...code, END];
  const binary = markStores(
    Uint8Array.of(
      0,
      0x61,
      0x73,
      0x6d,
      1,
      0,
      0,
      0,
      ...section(1, 1, 0x60, 2, 0x7f, 0x7f, 0),
      ...section(3, 1, 0),
      ...section(5, 1, 0, 2),
      ...section(7, 2, 1, 97, 0, 0, 1, 98, 2, 0),
      ...section(10, 1, ...leb(body.length), ...body),
    ),
  );
  const { exports } = new WebAssemblyApi.Instance(new WebAssemblyApi.Module(binary), {});
  const { a, b } = exports as { a: (x: number, y: number) => void; b: { buffer: ArrayBuffer } };
  return { call: a, memory: new Uint8Array(b.buffer) };
}

/** The numbers of the marked pages. */
const marks = (memory: Uint8Array): number[] =>
  [...memory.subarray(0, 32).entries()].flatMap(([page, mark]) => (mark === 1 ? [page] : []));

const store = (address: readonly number[], offset = 0) => [...address, CONST, 7, ...storeAt(offset)];
const A = [GET, 0];

describe('an engine with marks', () => {
  it.each<[string, number[], [number, number], number[]]>([
    ['a store', store(A), [5 * PAGE + 4, 0], [5]],
    ['a store far from its address', store(A, 3 * PAGE), [5 * PAGE, 0], [8]],
    ['a store that reaches into the next page', store(A), [6 * PAGE - 2, 0], [5]],
    ['stores beside each other', [...store(A), ...store(A, 8)], [6 * PAGE - 4, 0], [5]],
    ['stores that are not beside each other', [...store(A), ...store(A, MARK_BYTES)], [6 * PAGE - 4, 0], [5, 6]],
    ['a store before another', [...store([...A, CONST, 8, ADD]), ...store(A)], [6 * PAGE - 8, 0], [5, 6]],
    [
      'a store after its address was changed',
      [...store(A), GET, 1, SET, 0, ...store(A, 4)],
      [5 * PAGE, 9 * PAGE],
      [5, 9],
    ],
    ['a store after a branch without one', [GET, 1, IF, EMPTY, ...store(A), END, ...store(A, 4)], [5 * PAGE, 0], [5]],
    ['a store in the other branch', [GET, 1, IF, EMPTY, ...store(A), ELSE, ...store(A, 4), END], [5 * PAGE, 0], [5]],
    [
      'a store after a jump over one',
      [BLOCK, EMPTY, GET, 1, BR_IF, 0, ...store(A), END, ...store(A, 4)],
      [5 * PAGE, 1],
      [5],
    ],
    [
      'each turn of a loop',
      [
        ...store(A),
        LOOP,
        EMPTY,
        ...store(A, 4),
        ...A,
        CONST,
        ...signed(PAGE),
        ADD,
        SET,
        0,
        ...A,
        GET,
        1,
        0x49,
        BR_IF,
        0,
        END,
      ],
      [5 * PAGE, 8 * PAGE],
      [5, 6, 7],
    ],
    ['a fill', [...A, CONST, 3, GET, 1, 0xfc, 11, 0], [5 * PAGE + 1, 2 * PAGE], [5, 6, 7]],
    ['a copy', [...A, CONST, 0, GET, 1, 0xfc, 10, 0, 0], [5 * PAGE, PAGE], [5]],
    ['a fill of nothing', [...A, CONST, 3, GET, 1, 0xfc, 11, 0], [5 * PAGE, 0], []],
  ])('marks %s', (_name, code, [a, b], expected) => {
    const { call, memory } = instantiate(code);
    call(a, b);
    expect(marks(memory)).toEqual(expected);
  });

  it.each<[string, number[]]>([
    ['a store', store(A)],
    ['two stores to one address', [...store(A), ...A, CONST, 0, ...storeAt(0)]],
    ['a fill', [...A, CONST, 0, CONST, 63, 0xfc, 11, 0]],
  ])('cannot hide that %s changed the map', (_name, code) => {
    const { call, memory } = instantiate(code);
    call(0, 0);
    expect(memory[0]).toBe(1);
  });

  it('marks nothing for a store that traps', () => {
    const { call, memory } = instantiate(store(A));
    expect(() => call(131_072, 0)).toThrow(/out of bounds/u);
    expect(marks(memory)).toEqual([]);
  });
});

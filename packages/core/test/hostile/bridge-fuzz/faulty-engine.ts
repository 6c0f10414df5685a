import { Engine, type EngineHost, type EngineValue } from '#core/sandbox/quickjs/driver.js';
import type { Image } from '#core/sandbox/quickjs/image.js';
import type { WasmModule } from '#core/sandbox/quickjs/webassembly.js';

/**
 * Moments at which the host's code runs: it enters the guest, the guest calls a tool, or the script reads the clock
 * (`Date.now()` is the one call to the host that a script can make anywhere).
 */
export type FaultPoint = 'begin' | 'evaluate' | 'start' | 'settle' | 'flush' | 'describe' | 'call' | 'tick';

/** From one moment on, the engine has only this much memory left. */
export interface Fault {
  readonly point: FaultPoint;
  /** The number of the moment; the first is 0. */
  readonly nth: number;
  /**
   * The engine takes memory from the heap in large pieces, and small blocks from these: 'memory' refuses new pieces,
   * 'blocks' leaves no small block free either.
   */
  readonly kind: 'memory' | 'blocks' | 'stack';
  /** The remaining bytes; for blocks, their number and size: see `#takeBlocks`. */
  readonly room: number;
  /** The number of moments of any kind after which memory is available again. */
  readonly lasts: number;
}

/** Large blocks come first, because smaller ones use the remaining memory. */
const BLOCK_SIZES = [2_000, 1_000, 700, 480, 360, 230, 168, 136, 104, 88, 72, 56, 40, 24, 8, 1];
const MAX_TEXTS = 4_000;
const MANY_BLOCKS = 40;

/** An engine that runs out of memory or stack at chosen moments. */
export class FaultyEngine extends Engine {
  /** True: the guest could send all of its messages in the last segment. Otherwise the segment is dropped. */
  hasFlushed = false;
  readonly #image: Image;
  #faults: readonly Fault[] = [];
  #limits = { memory: 0, stack: 0 };
  #seen = new Map<FaultPoint, number>();
  #moments = 0;
  #lifts: { kind: Fault['kind']; at: number }[] = [];
  #timesBefore = 0;
  #lineFails = false;
  /** Values that occupy the small blocks. */
  #taken: EngineValue[] = [];

  constructor(module: WasmModule, host: EngineHost, image: Image) {
    const told: { engine?: FaultyEngine } = {};
    super(module, {
      ...host,
      clockMs: () => {
        told.engine?.reach('tick');
        return host.clockMs();
      },
      called: () => {
        host.called?.();
        told.engine?.reach('call');
      },
    });
    told.engine = this;
    this.#image = image;
  }

  /**
   * Prepares the next script; `memory` and `stack` are its own limits in bytes. `lineFails`: a line of its bridge will
   * fail.
   */
  plan(faults: readonly Fault[], memory: number, stack: number, lineFails = false): void {
    this.#lineFails = lineFails;
    this.#faults = faults;
    this.#limits = { memory, stack };
    this.#seen = new Map();
    this.#moments = 0;
    this.#lifts = [];
    this.#taken = [];
    this.#timesBefore = this.#timesOut();
  }

  /** True if the engine ran out of memory or stack since the last query. */
  takeRunOut(): boolean {
    const times = this.#timesOut();
    const hasRunOut = times !== this.#timesBefore;
    this.#timesBefore = times;
    return hasRunOut;
  }

  reach(point: FaultPoint): void {
    if (this.#faults.length === 0) return;
    this.#moments++;
    this.#liftFaults();
    const nth = this.#seen.get(point) ?? 0;
    this.#seen.set(point, nth + 1);
    for (const fault of this.#faults) if (fault.point === point && fault.nth === nth) this.#set(fault);
  }

  override callWithText(callee: EngineValue, text: string): void {
    this.hasFlushed = false;
    const isBegin = callee === this.#image.header.entries.begin;
    // The host treats the failure as the lack of memory that it simulates.
    if (isBegin && this.#lineFails) this.raw.toolscript_oom.value++;
    this.reach(isBegin ? 'begin' : 'settle');
    super.callWithText(callee, text);
  }

  override evaluate(bytecode: Uint8Array): EngineValue {
    this.reach('evaluate');
    return super.evaluate(bytecode);
  }

  override call(callee: EngineValue, argument?: EngineValue): EngineValue {
    if (callee === this.#image.header.entries.start) this.reach('start');
    return super.call(callee, argument);
  }

  override callForText(callee: EngineValue, argument?: EngineValue): string {
    const isFlush = callee === this.#image.header.entries.flush;
    this.hasFlushed = false;
    this.reach(isFlush ? 'flush' : 'describe');
    const text = super.callForText(callee, argument);
    this.hasFlushed = true;
    return text;
  }

  #set({ kind, room, lasts }: Fault): void {
    if (kind === 'stack') this.raw.qjs_set_max_stack_size(this.#usedStack() + room + 1);
    else this.raw.qjs_set_memory_limit(this.#usedBytes() + (kind === 'memory' ? room : 0) + 1);
    if (kind === 'blocks') this.#takeBlocks(room);
    this.#lifts.push({ kind, at: this.#moments + lasts });
  }

  #liftFaults(): void {
    for (const { kind } of this.#lifts.filter(({ at }) => at <= this.#moments)) {
      if (kind === 'stack') this.raw.qjs_set_max_stack_size(this.#limits.stack);
      else this.raw.qjs_set_memory_limit(this.#limits.memory);
      if (kind === 'blocks') for (const value of this.#taken.splice(0)) this.raw.qjs_free_value(value);
    }
    this.#lifts = this.#lifts.filter(({ at }) => at > this.#moments);
  }

  /**
   * Allocates texts of every small size until no block is left. Then frees a few of one size, and many of the others.
   */
  #takeBlocks(room: number): void {
    const { raw } = this;
    const times = raw.toolscript_oom.value;
    const bySize = BLOCK_SIZES.map((size) => this.#takeTexts(size));
    const scarce = room % BLOCK_SIZES.length;
    for (const [index, texts] of bySize.entries()) {
      const free = index === scarce ? Math.floor(room / BLOCK_SIZES.length) : MANY_BLOCKS;
      for (const text of texts.splice(Math.max(0, texts.length - free))) raw.qjs_free_value(text);
    }
    this.#taken.push(...bySize.flat());
    // The counter is reset: the script has not run out of memory or stack yet.
    raw.toolscript_oom.value = times;
  }

  #takeTexts(size: number): EngineValue[] {
    const { raw, channel } = this;
    this.memoryToChange(channel.io, size).fill('x', channel.io, channel.io + size);
    const texts: EngineValue[] = [];
    while (texts.length < MAX_TEXTS) {
      const text = raw.qjs_new_string(channel.io, size);
      if (text !== 0 && raw.qjs_is_exception(text) === 0) {
        texts.push(text);
        continue;
      }
      if (text !== 0) raw.qjs_free_value(text);
      raw.qjs_free_value(raw.qjs_get_exception());
      break;
    }
    return texts;
  }

  #timesOut(): number {
    return this.raw.toolscript_oom.value + this.raw.toolscript_stack.value;
  }

  #usedBytes(): number {
    return this.words()[this.#image.header.layout.heapSize >> 2]!;
  }

  #usedStack(): number {
    return this.#image.header.stackPointer - this.raw.__stack_pointer.value;
  }
}

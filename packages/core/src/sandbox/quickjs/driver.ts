import { markPages } from './changed-pages.js';
import { WebAssemblyApi, type WasmMemory, type WasmModule } from './webassembly.js';

/**
 * The driver of the engine (quickjs-wasi 3.6.2, quickjs-ng 0.17): it provides the engine's imports and wraps most of
 * its raw exports.
 *
 * A value is the address of a cell in linear memory. The driver keeps no value from one script to the next, because
 * restoring the image invalidates every address except the image's own.
 */

/**
 * The callbacks that the engine needs from its host. A callback may throw, which unwinds the engine and makes the
 * instance useless.
 */
export interface EngineHost {
  clockMs(): number;
  /** Called at intervals while the engine computes: after thousands of instructions or loop iterations. */
  interrupt(): void;
  /** A promise was rejected without a handler, or got a handler after that. The callee owns both values. */
  rejection(promise: EngineValue, reason: EngineValue, handled: boolean): void;
  /** The guest called `hostFunction` without an argument. */
  called?(): void;
  /** The guest called `hostFunction` with a text, and receives the returned text. */
  asked?(question: string): string;
}

export type EngineValue = number;

interface EngineExports {
  memory: WasmMemory;
  __stack_pointer: { value: number };
  toolscript_oom: { value: number };
  toolscript_stack: { value: number };
  /** End of the heap in pages; the memory after this end is allocated and zero. */
  toolscript_pages: { value: number };
  _initialize(): void;
  qjs_init2(intrinsics: number): number;
  qjs_set_memory_limit(bytes: number): void;
  qjs_set_max_stack_size(bytes: number): void;
  qjs_set_interrupt_handler(on: number): void;
  qjs_set_promise_rejection_handler(on: number): void;
  qjs_run_gc(): void;
  qjs_set_gc_threshold(bytes: number): void;
  qjs_compile(
    code: number,
    length: number,
    name: number,
    evalFlags: number,
    compileFlags: number,
    lengthOut: number,
  ): number;
  qjs_eval_bytecode(bytes: number, length: number): EngineValue;
  qjs_call(callee: EngineValue, receiver: EngineValue, count: number, args: number): EngineValue;
  qjs_new_string(text: number, length: number): EngineValue;
  qjs_new_number(value: number): EngineValue;
  qjs_new_host_function(name: number, nameLength: number, parameters: number): EngineValue;
  qjs_get_string_len(value: EngineValue, lengthOut: number): number;
  qjs_free_cstring(text: number): void;
  qjs_free_value(value: EngineValue): void;
  qjs_is_exception(value: EngineValue): number;
  qjs_get_exception(): EngineValue;
  qjs_get_undefined(): EngineValue;
  qjs_get_prop_string(value: EngineValue, name: number): EngineValue;
  qjs_get_prop_uint32(value: EngineValue, index: number): EngineValue;
  qjs_get_value_ptr(value: EngineValue): number;
  qjs_is_job_pending(): number;
  qjs_execute_pending_job(): number;
  qjs_get_runtime_ptr(): number;
  wasm_malloc(bytes: number): number;
  wasm_free(address: number): void;
}

/** All of the engine's features except evaluating text: bit 1 of `qjs_init2`'s mask. */
export const INTRINSICS_WITHOUT_EVAL = 0xffff_ffff & ~2;
export const ALL_INTRINSICS = 0xffff_ffff;

/** Bits of `qjs_compile`'s flags. Scripts keep their lines, because errors name them. */
const DROP_SOURCE = 1 << 4;
const DROP_LINES = 1 << 5;
/**
 * Size of the buffer for texts. Longer texts are allocated separately. The buffer is restored with the guest, so it is
 * no larger than most texts need.
 */
export const IO_BYTES = 16_384;

/** Fixed addresses through which a booted instance exchanges data with its host. The image contains them. */
export interface Channel {
  io: number;
  lengthOut: number;
  argument: number;
  fileName: number;
}

/** The engine rejected a source, could not start, ran out of memory, or threw an error while the host called it. */
export class EngineError extends Error {
  constructor(
    message: string,
    /** Line in the source; 0 if the engine reported none. */
    readonly line = 0,
  ) {
    super(message);
  }
}

export class Engine {
  readonly raw: EngineExports;
  channel: Channel = { io: 0, lengthOut: 0, argument: 0, fileName: 0 };
  #bytes: Buffer = Buffer.alloc(0);
  #words: Uint32Array = new Uint32Array();
  #size = -1;

  constructor(
    module: WasmModule,
    host: EngineHost,
    fillRandom: (bytes: Uint8Array) => void = (bytes) => bytes.fill(7),
  ) {
    const imports = {
      env: {
        host_get_timezone_offset: () => 0,
        host_interrupt: () => {
          host.interrupt();
          return 0;
        },
        host_promise_rejection: (promise: number, reason: number, handled: number) =>
          host.rejection(promise, reason, handled !== 0),
        host_module_normalize: () => 0,
        host_module_load: () => 0,
        host_call: (_name: number, _nameLength: number, _receiver: number, count: number, values: number) => {
          if (count > 0) return this.#newText(host.asked?.(this.text(this.words()[values >> 2]!)) ?? '');
          host.called?.();
          return this.raw.qjs_new_number(0);
        },
      },
      wasi_snapshot_preview1: {
        clock_time_get: (_clock: number, _precision: bigint, out: number) => {
          this.memoryToChange(out, 8).writeBigUInt64LE(BigInt(Math.floor(host.clockMs() * 1e6)), out);
          return 0;
        },
        random_get: (out: number, length: number) => {
          fillRandom(this.memoryToChange(out, length).subarray(out, out + length));
          return 0;
        },
        fd_close: () => 52,
        fd_fdstat_get: () => 8,
        fd_seek: () => 52,
        fd_write: () => 8,
      },
    };
    this.raw = new WebAssemblyApi.Instance(module, imports).exports as EngineExports;
  }

  /** The whole linear memory, for reading; valid until the next call into the engine. */
  memory(): Buffer {
    const { buffer } = this.raw.memory;
    if (buffer.byteLength !== this.#size) {
      this.#size = buffer.byteLength;
      this.#bytes = Buffer.from(buffer);
      this.#words = new Uint32Array(buffer);
    }
    return this.#bytes;
  }

  /** The same memory in words, for reading. */
  words(): Uint32Array {
    this.memory();
    return this.#words;
  }

  /** The whole linear memory, of which the host is about to change these bytes. */
  memoryToChange(address: number, bytes: number): Buffer {
    const memory = this.memory();
    // defence: changes-by-the-host-are-marked
    markPages(memory, address, bytes);
    return memory;
  }

  /** Starts the engine in a fresh instance. Instances that load an image do not need this call. */
  initialize(options: { intrinsics: number; maxStackBytes: number }): void {
    this.raw._initialize();
    if (this.raw.qjs_init2(options.intrinsics) !== 0)
      throw new EngineError('The engine did not start. Install quickjs-wasi again, then run: npm run build');
    this.raw.qjs_set_max_stack_size(options.maxStackBytes);
    this.raw.qjs_set_interrupt_handler(1);
    this.raw.qjs_set_promise_rejection_handler(1);
    this.channel = {
      io: this.allocate(IO_BYTES),
      lengthOut: this.allocate(8),
      argument: this.allocate(32),
      fileName: this.allocate(32),
    };
  }

  allocate(bytes: number): number {
    const address = this.raw.wasm_malloc(bytes);
    if (address === 0)
      throw new EngineError(
        'The engine has no memory left. The host can raise limits.memoryMb, or the script can hold less data.',
      );
    return address;
  }

  /** Compiles a script without running it. Throws an `EngineError` with the engine's message. */
  compile(source: string, fileName: string, options: { keepLines: boolean }): Buffer {
    const { raw, channel } = this;
    this.#write(`${fileName}\0`, channel.fileName);
    return this.#withText(source, (address, length) => {
      const bytecode = raw.qjs_compile(
        address,
        length,
        channel.fileName,
        0,
        options.keepLines ? DROP_SOURCE : DROP_SOURCE | DROP_LINES,
        channel.lengthOut,
      );
      if (bytecode === 0) throw this.takeError();
      const size = this.words()[channel.lengthOut >> 2]!;
      const copy = Buffer.from(this.memory().subarray(bytecode, bytecode + size));
      raw.wasm_free(bytecode);
      return copy;
    });
  }

  /** Evaluates bytecode made by `compile` in this process. */
  evaluate(bytecode: Uint8Array): EngineValue {
    const { raw } = this;
    const address = bytecode.length <= IO_BYTES ? this.channel.io : this.allocate(bytecode.length);
    this.memoryToChange(address, bytecode.length).set(bytecode, address);
    const value = raw.qjs_eval_bytecode(address, bytecode.length);
    if (address !== this.channel.io) raw.wasm_free(address);
    return this.#checkedValue(value);
  }

  /**
   * Creates a function that notifies the host of each call and returns 0, or, with a text as its argument, returns the
   * host's answer. The function is in the guest's memory, and so in an image of this memory.
   */
  hostFunction(): EngineValue {
    return this.raw.qjs_new_host_function(this.channel.io, this.#write('host', this.channel.io), 0);
  }

  call(callee: EngineValue, argument?: EngineValue): EngineValue {
    const { raw, channel } = this;
    if (argument !== undefined) this.memoryToChange(channel.argument, 4).writeUInt32LE(argument, channel.argument);
    return this.#checkedValue(
      raw.qjs_call(callee, raw.qjs_get_undefined(), argument === undefined ? 0 : 1, channel.argument),
    );
  }

  /** Calls a function of the guest with a text and drops the result. */
  callWithText(callee: EngineValue, text: string): void {
    const argument = this.#newText(text);
    this.raw.qjs_free_value(this.call(callee, argument));
    this.raw.qjs_free_value(argument);
  }

  callForText(callee: EngineValue, argument?: EngineValue): string {
    const value = this.call(callee, argument);
    const text = this.text(value);
    this.raw.qjs_free_value(value);
    return text;
  }

  property(value: EngineValue, name: string): EngineValue {
    this.#write(`${name}\0`, this.channel.io);
    return this.raw.qjs_get_prop_string(value, this.channel.io);
  }

  text(value: EngineValue): string {
    const { raw, channel } = this;
    const address = raw.qjs_get_string_len(value, channel.lengthOut);
    if (address === 0)
      throw new EngineError(
        'The engine has no memory left to return a text. The host can raise limits.memoryMb, or the script can hold less data.',
      );
    const length = this.words()[channel.lengthOut >> 2]!;
    const text = this.memory().toString('utf8', address, address + length);
    raw.qjs_free_cstring(address);
    return text;
  }

  takeException(): string {
    const exception = this.raw.qjs_get_exception();
    try {
      return this.text(exception);
    } catch {
      return 'an error that cannot be shown';
    } finally {
      this.raw.qjs_free_value(exception);
    }
  }

  /** Takes the pending exception, with the line of the first frame of its trace. */
  takeError(): EngineError {
    const { raw } = this;
    const exception = raw.qjs_get_exception();
    try {
      const message = this.text(exception);
      const trace = this.property(exception, 'stack');
      const line = /:(\d+)/.exec(this.text(trace))?.[1];
      raw.qjs_free_value(trace);
      return new EngineError(message, Number(line ?? 0));
    } catch {
      return new EngineError('the engine rejects the script without a readable error; simplify the script');
    } finally {
      raw.qjs_free_value(exception);
    }
  }

  /**
   * Runs promise jobs until none is left. Every job may add new jobs; `check` is called at intervals and may throw to
   * end the jobs.
   */
  runJobs(check: () => void): void {
    const { raw } = this;
    for (let jobs = 1; raw.qjs_is_job_pending() !== 0; jobs++) {
      if (raw.qjs_execute_pending_job() < 0) throw new EngineError(this.takeException());
      if ((jobs & 255) === 0) check();
    }
  }

  /** Returns the number of bytes of the text. */
  #write(text: string, address: number): number {
    const length = this.memory().write(text, address);
    this.memoryToChange(address, length);
    return length;
  }

  #newText(text: string): EngineValue {
    return this.#withText(text, (address, length) => this.raw.qjs_new_string(address, length));
  }

  #checkedValue(value: EngineValue): EngineValue {
    if (this.raw.qjs_is_exception(value) !== 0) {
      this.raw.qjs_free_value(value);
      throw new EngineError(this.takeException());
    }
    return value;
  }

  #withText<T>(text: string, use: (address: number, length: number) => T): T {
    const { raw } = this;
    const most = text.length * 3 + 1;
    const address = most <= IO_BYTES ? this.channel.io : this.allocate(Buffer.byteLength(text) + 1);
    const length = this.#write(text, address);
    this.memoryToChange(address + length, 1)[address + length] = 0;
    try {
      return use(address, length);
    } finally {
      if (address !== this.channel.io) raw.wasm_free(address);
    }
  }
}

/**
 * Reads and writes those parts of WebAssembly binaries that the engine's build needs. Format: WebAssembly core
 * specification 1.0, chapter 5.
 */

export interface WasmSection {
  id: number;
  body: Uint8Array;
}

export const SECTION = {
  type: 1,
  import: 2,
  function: 3,
  memory: 5,
  global: 6,
  export: 7,
  code: 10,
  data: 11,
} as const;

const MAGIC = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

export function readSections(binary: Uint8Array): WasmSection[] {
  if (!MAGIC.every((byte, index) => binary[index] === byte))
    throw new Error('the engine is not a WebAssembly 1.0 binary; install quickjs-wasi again');
  const sections: WasmSection[] = [];
  const reader = new ByteReader(binary, MAGIC.length);
  while (!reader.done) {
    const id = reader.byte();
    sections.push({ id, body: reader.bytes(reader.unsigned()) });
  }
  return sections;
}

export function writeSections(sections: readonly WasmSection[]): Uint8Array {
  return concatBytes([
    MAGIC,
    ...sections.flatMap(({ id, body }) => [Uint8Array.of(id, ...unsignedLeb(body.length)), body]),
  ]);
}

/** Reads bytes in order; a read after the end throws. */
export class ByteReader {
  constructor(
    readonly source: Uint8Array,
    public offset = 0,
  ) {}

  get done(): boolean {
    return this.offset >= this.source.length;
  }

  byte(): number {
    const value = this.source[this.offset++];
    if (value === undefined) throw new Error('unexpected end of a WebAssembly section; install quickjs-wasi again');
    return value;
  }

  bytes(length: number): Uint8Array {
    const end = this.offset + length;
    if (end > this.source.length)
      throw new Error('unexpected end of a WebAssembly section; install quickjs-wasi again');
    const part = this.source.subarray(this.offset, end);
    this.offset = end;
    return part;
  }

  unsigned(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  signed(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return (byte & 64) === 0 ? value : value - scale * 128;
    }
  }

  /** Skips `count` LEB128 numbers, signed or unsigned. */
  skipLeb(count = 1): void {
    for (let index = 0; index < count; index++) while (this.byte() >= 128);
  }

  name(): string {
    return new TextDecoder().decode(this.bytes(this.unsigned()));
  }

  /** Reads the limits of a memory or a table. */
  limits(): { min: number; max: number | undefined } {
    const flags = this.byte();
    const min = this.unsigned();
    return { min, max: (flags & 1) === 1 ? this.unsigned() : undefined };
  }
}

export function unsignedLeb(value: number): number[] {
  const out: number[] = [];
  let rest = value >>> 0;
  do {
    const byte = rest & 127;
    rest >>>= 7;
    out.push(rest === 0 ? byte : byte | 128);
  } while (rest !== 0);
  return out;
}

export function signedLeb(value: number): number[] {
  const out: number[] = [];
  for (let rest = value | 0; ;) {
    const byte = rest & 127;
    rest >>= 7;
    const last = (rest === 0 && (byte & 64) === 0) || (rest === -1 && (byte & 64) !== 0);
    out.push(last ? byte : byte | 128);
    if (last) return out;
  }
}

export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

/**
 * Sets the memory limits of a WebAssembly binary that has exactly one memory section.
 * Format: WebAssembly core specification 1.0, section 5.5.8.
 */
export function limitMemory(binary: Uint8Array, minPages: number, maxPages: number): Uint8Array {
  const MEMORY_SECTION = 5;
  let offset = 8;
  while (offset < binary.length) {
    const start = offset;
    const id = binary[offset++];
    let length = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = binary[offset++]!;
      length += (byte & 127) * scale;
      if (byte < 128) break;
    }
    const end = offset + length;
    if (id === MEMORY_SECTION) {
      const body = [1, 1, ...leb(minPages), ...leb(Math.max(minPages, maxPages))];
      return Buffer.concat([
        binary.subarray(0, start),
        Uint8Array.of(MEMORY_SECTION, ...leb(body.length), ...body),
        binary.subarray(end),
      ]);
    }
    offset = end;
  }
  throw new Error('the engine has no memory section');
}

function leb(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...leb(value >>> 7)];
}

/** The bytes before a script's own record. The host finds the record in the guest's memory by them. */
export const RECORD_MARK = [0x51f0a3c1, 0x2b7e1516, 0x0badcafe, 0x7ea1d00d] as const;
/** Words of the record. */
export const RECORD = { made: 4, wrong: 5, kept: 6, settled: 7, calls: 16, length: 1_600 } as const;

/** The script's own record of its calls. */
export interface ScriptRecord {
  /** The numbers of the calls that were made, in order. */
  readonly made: readonly number[];
  /** The number of calls that got the result of another call. */
  readonly wrong: number;
  /** The number of promises of calls that the script listens to, and of those that were settled. */
  readonly kept: number;
  readonly settled: number;
}

const MARK_BYTES = Buffer.from(Int32Array.from(RECORD_MARK).buffer);

/** The words of the record in the guest's memory; undefined if the script ended before it made one. */
export function findRecord(memory: Uint8Array, from: number): Int32Array | undefined {
  const at = Buffer.from(memory.buffer, memory.byteOffset, memory.byteLength).indexOf(MARK_BYTES, from);
  return at < 0 ? undefined : new Int32Array(memory.buffer, memory.byteOffset + at, RECORD.length);
}

export function readRecord(words: Int32Array | undefined): ScriptRecord | undefined {
  const made = words?.[RECORD.made] ?? -1;
  if (words === undefined || made < 0 || made > RECORD.length) return undefined;
  return {
    made: [...words.subarray(RECORD.calls, Math.min(RECORD.calls + made, RECORD.length))],
    wrong: words[RECORD.wrong]!,
    kept: words[RECORD.kept]!,
    settled: words[RECORD.settled]!,
  };
}

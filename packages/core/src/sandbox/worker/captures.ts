import type { SandboxCapture } from '../../protocol/index.js';
import { SnapshotError } from '../quickjs/snapshot.js';
import type { SlotSnapshot } from '../quickjs/slot.js';

/**
 * A slot's snapshot as bytes: the length of a JSON text (32 bits, little-endian), the text with everything but
 * the memory, then the memory.
 */
export function writeCapture(snapshot: SlotSnapshot, images: readonly string[]): SandboxCapture {
  const { memory, ...rest } = snapshot;
  const json = Buffer.from(JSON.stringify(rest));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(json.length);
  return { runtime: 'quickjs', images, state: Buffer.concat([length, json, memory]) };
}

/** Throws a `SnapshotError` for bytes that `writeCapture` did not write. */
export function readCapture(state: Uint8Array): SlotSnapshot {
  const bytes = Buffer.from(state.buffer, state.byteOffset, state.byteLength);
  if (bytes.length < 4 || bytes.length < 4 + bytes.readUInt32LE(0)) throw new SnapshotError('the capture is truncated');
  const end = 4 + bytes.readUInt32LE(0);
  let rest: unknown;
  try {
    rest = JSON.parse(bytes.toString('utf8', 4, end));
  } catch {
    throw new SnapshotError('the capture cannot be read');
  }
  if (!isRest(rest)) throw new SnapshotError('the capture lacks a part');
  // This copies the memory, because a message to a worker carries the whole buffer of a view.
  return { ...rest, memory: Uint8Array.from(bytes.subarray(end)) };
}

function isRest(value: unknown): value is Omit<SlotSnapshot, 'memory'> {
  if (typeof value !== 'object' || value === null) return false;
  const { clockMs, computeLeftMs, peakHeap, nextCall, waiting, racing, rejections, ranOutOf } =
    value as Partial<SlotSnapshot>;
  const numbers = [clockMs, computeLeftMs, peakHeap, nextCall];
  const lists = [waiting, racing, rejections];
  return (
    numbers.every((one) => typeof one === 'number') &&
    lists.every((one) => Array.isArray(one)) &&
    typeof ranOutOf === 'object'
  );
}

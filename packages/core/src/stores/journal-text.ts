import { crc32 } from 'node:zlib';
import { ToolscriptUsageError, type ScriptStatus } from '../protocol/index.js';

// The text of a journal. Several processes append to it and may die or lag at any time, so the text alone must show
// which batches count:
//
//     #3.0*0 5f1c3a90        the first batch of epoch 3, without parts: a fence
//     .
//     #3.1*3 0c22e1d4        its second batch, with three parts; then the CRC-32 of the head and the parts
//     +{"a":1}               a line
//     !{"state":"running"}   the script's status
//     @slot-3-1 812 9a01b3ff the file of the slot, its bytes and their CRC-32; "@" alone: the slot is empty
//     .
//
// Each batch starts with a line feed and ends with the dot. It counts if it is complete and matches its CRC. A
// truncated batch has no dot and cannot get one from the next batch, which starts with its own head. Batches of an
// older epoch after one of a newer epoch come from a process that lost its claim; they do not count. The batch numbers
// of an epoch have no gaps: a missing number means lost data. A repeated number is a retry of the same batch.

const HEAD = /^#(\d{1,16})\.(\d{1,12})\*(\d{1,9}) ([0-9a-f]{8})$/u;
const SLOT = /^(slot-\d{1,16}-\d{1,12}) (\d{1,16}) ([0-9a-f]{8})$/u;

/** The location of the current text of a script's slot. */
export interface SlotReference {
  readonly name: string;
  readonly bytes: number;
  readonly crc: string;
}

export interface BatchParts {
  readonly lines: readonly string[];
  readonly status?: ScriptStatus | undefined;
  /** The new slot. Null: this batch empties the slot. */
  readonly slot?: SlotReference | null | undefined;
}

export interface JournalText {
  readonly lines: readonly string[];
  readonly status: ScriptStatus | undefined;
  readonly slot: SlotReference | undefined;
  /** The newest epoch with a batch that counts; 0 if there is none. */
  readonly newestEpoch: number;
  /** The next batch number of each epoch, which is the number of valid batches if none is missing. */
  readonly counts: ReadonlyMap<number, number>;
  /** Describes batches that are missing in the middle; undefined if none is missing. */
  readonly gap: string | undefined;
}

export function writeBatch(epoch: number, number: number, { lines, status, slot }: BatchParts): string {
  checkJournalLines(lines);
  const parts = lines.map((line) => `+${line}`);
  if (status !== undefined) parts.push(`!${JSON.stringify(status)}`);
  if (slot !== undefined) parts.push(slot === null ? '@' : `@${slot.name} ${slot.bytes} ${slot.crc}`);
  const name = `${epoch}.${number}*${parts.length}`;
  const body = parts.map((part) => `${part}\n`).join('');
  return `\n#${name} ${checksum(`${name}\n${body}`)}\n${body}.`;
}

/** Throws a `ToolscriptUsageError` if a line cannot be stored. */
export function checkJournalLines(lines: readonly string[]): void {
  if (lines.some((line) => /[\n\p{Surrogate}]/u.test(line))) throw new ToolscriptUsageError('JOURNAL_LINE_INVALID');
}

/** The CRC-32 of the content, as eight hexadecimal digits. */
export function checksum(content: string | Uint8Array): string {
  return crc32(content).toString(16).padStart(8, '0');
}

interface Batch {
  readonly epoch: number;
  readonly number: number;
  readonly crc: string;
  readonly size: number;
  readonly parts: string[];
}

export function readJournalText(text: string): JournalText {
  const reader = new JournalReader();
  let batch: Batch | undefined;
  for (const line of text.split('\n')) {
    if (line === '.' && isWhole(batch)) reader.take(batch);
    if (/^[+!@]/u.test(line)) batch?.parts.push(line);
    else batch = beginBatch(line);
  }
  return reader;
}

class JournalReader implements JournalText {
  readonly lines: string[] = [];
  status: ScriptStatus | undefined;
  slot: SlotReference | undefined;
  newestEpoch = 0;
  readonly counts = new Map<number, number>();
  gap: string | undefined;

  take(batch: Batch): void {
    // defence: batches-below-a-fence-do-not-count
    if (batch.epoch < this.newestEpoch) return;
    if (!this.#isNext(batch.epoch, batch.number)) return;
    this.newestEpoch = batch.epoch;
    for (const part of batch.parts) this.#takePart(part);
  }

  #isNext(epoch: number, number: number): boolean {
    const expected = this.counts.get(epoch) ?? 0;
    if (number < expected) return false;
    if (number > expected)
      this.gap ??= `${number - expected} of its entries before entry ${number} of epoch ${epoch} are missing`;
    this.counts.set(epoch, number + 1);
    return true;
  }

  #takePart(part: string): void {
    const content = part.slice(1);
    if (part.startsWith('+')) this.lines.push(content);
    else if (part.startsWith('!')) this.status = JSON.parse(content) as ScriptStatus;
    else this.slot = readSlotReference(content);
  }
}

function readSlotReference(text: string): SlotReference | undefined {
  const [, name, bytes, crc] = SLOT.exec(text) ?? [];
  return name === undefined || crc === undefined ? undefined : { name, bytes: Number(bytes), crc };
}

function isWhole(batch: Batch | undefined): batch is Batch {
  if (batch === undefined || batch.parts.length !== batch.size) return false;
  const name = `${batch.epoch}.${batch.number}*${batch.size}`;
  return checksum(`${name}\n${batch.parts.map((part) => `${part}\n`).join('')}`) === batch.crc;
}

/** The batch that a line starts; undefined if the line starts none. */
function beginBatch(line: string): Batch | undefined {
  const [, epoch, number, size, crc] = HEAD.exec(line) ?? [];
  if (epoch === undefined || crc === undefined) return undefined;
  return { epoch: Number(epoch), number: Number(number), crc, size: Number(size), parts: [] };
}

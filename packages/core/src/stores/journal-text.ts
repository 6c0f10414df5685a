import { ToolscriptUsageError } from '../protocol/index.js';

// The text of a journal. It is only ever appended to, by several processes that may die or be slow, so that what
// stands in it must say by itself what counts:
//
//     3 {"a":1}          epoch 3 appended one line
//     .
//     3*2 {"b":1}        epoch 3 appended two lines
//     +{"b":2}
//     .
//     4*0                epoch 4 took the script over (a fence)
//     .
//
// Each append begins with a line feed and ends with the dot, and counts when the dot is there. What was cut off has no
// dot, and cannot get one from an append after it: that begins with its own first line. Lines of an older epoch below
// those of a newer one, or below its fence, were written by somebody who did not know yet; they do not count.

/** Epoch, lines of the batch where it is not one, and the first line. */
const HEAD = /^(\d{1,16})(?:\*(\d{1,9}))? ([^]*)$/u;

export interface JournalText {
  readonly lines: readonly string[];
  /** 0 where nothing counts. */
  readonly newestEpoch: number;
}

export function writeBatch(epoch: number, lines: readonly string[]): string {
  if (lines.some((line) => /[\n\p{Surrogate}]/u.test(line)))
    throw new ToolscriptUsageError('A line of a journal is well-formed text without line feeds');
  const head = lines.length === 1 ? `${epoch} ` : `${epoch}*${lines.length} `;
  return `\n${head}${lines.join('\n+')}\n.`;
}

/** What is below a fence counts only where its epoch is not older. */
export function writeFence(epoch: number): string {
  return writeBatch(epoch, []);
}

interface Batch {
  readonly epoch: number;
  readonly size: number;
  readonly lines: string[];
}

/** `text` may begin in the middle of a journal, after any line feed. */
export function readJournalText(text: string): JournalText {
  const lines: string[] = [];
  let newestEpoch = 0;
  let batch: Batch | undefined;
  for (const line of text.split('\n')) {
    if (line === '.' && isWhole(batch) && batch.epoch >= newestEpoch) {
      newestEpoch = batch.epoch;
      for (const whole of batch.lines) lines.push(whole);
    }
    batch = line.startsWith('+') ? continueBatch(batch, line.slice(1)) : beginBatch(line);
  }
  return { lines, newestEpoch };
}

function isWhole(batch: Batch | undefined): batch is Batch {
  return batch !== undefined && batch.lines.length === batch.size;
}

/** Undefined where the line begins none. */
function beginBatch(line: string): Batch | undefined {
  const [, epoch, size = '1', first = ''] = HEAD.exec(line) ?? [];
  if (epoch === undefined) return undefined;
  return { epoch: Number(epoch), size: Number(size), lines: size === '0' ? [] : [first] };
}

function continueBatch(batch: Batch | undefined, line: string): Batch | undefined {
  batch?.lines.push(line);
  return batch;
}

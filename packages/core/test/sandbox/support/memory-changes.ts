import { MARK_BYTES, PAGE } from '#core/sandbox/quickjs/changed-pages.js';

/**
 * The pages from `start` that differ from the pristine memory and for which no mark stands. A script's memory may have
 * grown; what was added was zero.
 */
export function unmarkedPages(memory: Buffer, pristine: Buffer, start: number): number[] {
  const found: number[] = [];
  for (let at = start; at < memory.length; at += PAGE) {
    const page = at / PAGE;
    if (memory[page] !== 0) continue;
    const from = memory[page - 1] === 0 ? at : at + MARK_BYTES;
    if (!isPristine(memory, pristine, from, at + PAGE)) found.push(page);
  }
  return found;
}

/** True if these bytes, or all from `from`, are the pristine ones. */
export function isPristine(memory: Buffer, pristine: Buffer, from: number, to = memory.length): boolean {
  const known = Math.min(Math.max(pristine.length, from), to);
  return (
    (known === from || memory.compare(pristine, from, known, from, known) === 0) &&
    (to === known || memory.compare(Buffer.alloc(to - known), 0, to - known, known, to) === 0)
  );
}

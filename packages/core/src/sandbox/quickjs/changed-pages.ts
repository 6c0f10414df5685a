/**
 * The map of the pages that a script has changed: one byte for each page, at the start of linear memory, where the
 * stack ends. The number of a page is so the address of its byte. The engine writes 1 after each store (see
 * `store-marks.ts`), and the host before each change of its own.
 *
 * A marked page stands for its bytes and for the first MARK_BYTES of the page after it.
 */
export const PAGE_BITS = 12;
export const PAGE = 1 << PAGE_BITS;
export const MARK_BYTES = 256;

/**
 * Maximum size of a memory with a map, in MiB. The map of a larger one would reach the stack, of which a script can use
 * all but 384 KiB.
 */
export const MAX_MAPPED_MB = 1_088;

const WORD = 4;

export function markPages(memory: Uint8Array, address: number, bytes: number): void {
  if (bytes > 0) memory.fill(1, address >> PAGE_BITS, ((address + bytes - 1) >> PAGE_BITS) + 1);
}

/**
 * Undoes all changes of a memory above `start`, and empties the map. `content` is the memory's original content from
 * `start`; all that follows was zero. Returns false if the map itself was changed: then the changes are not known.
 */
export function undoChanges(memory: Uint8Array, words: Uint32Array, start: number, content: Uint8Array): boolean {
  // defence: the-map-of-changes-is-not-changed
  if (memory[0] !== 0) return false;
  const pages = memory.length >> PAGE_BITS;
  const undo = (first: number, end: number) => {
    const from = Math.max(first * PAGE, start);
    const to = Math.min(end * PAGE + MARK_BYTES, memory.length);
    const copied = Math.min(to, start + content.length);
    if (copied > from) memory.set(content.subarray(from - start, copied - start), from);
    // defence: heap-is-zeroed
    if (to > copied) memory.fill(0, Math.max(from, copied), to);
  };
  // The last page of the stack is looked at too, because it stands for the first bytes above the stack.
  let first = -1;
  for (let word = ((start >> PAGE_BITS) - 1) >> 2; word < pages >> 2; word++) {
    if (words[word] === 0 && first < 0) continue;
    for (let page = word * WORD; page < (word + 1) * WORD; page++) {
      if (memory[page] !== 0) {
        if (first < 0) first = page;
      } else if (first >= 0) {
        undo(first, page);
        first = -1;
      }
    }
  }
  if (first >= 0) undo(first, pages);
  words.fill(0, 0, pages >> 2);
  return true;
}

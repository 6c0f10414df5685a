/** Shorter texts are one block, so that references between their parts work. */
const MIN_SPLIT = 4000;

/**
 * Splits a long Markdown text at blank lines outside of fences. A block that is complete never changes while the text
 * grows, so that it need not be rendered again. The joined blocks are the text.
 */
export function markdownBlocks(text: string): string[] {
  if (text.length < MIN_SPLIT) return [text];
  const blocks: string[] = [];
  let block = '';
  let fence: string | undefined;
  for (const line of text.split(/(?<=\n)/u)) {
    const mark = /^ {0,3}(`{3,}|~{3,})/u.exec(line)?.[1];
    if (mark !== undefined) fence = fence === undefined ? mark : closes(fence, mark, line) ? undefined : fence;
    block += line;
    const endsBlock = fence === undefined && line.trim() === '' && block.trim() !== '';
    if (!endsBlock) continue;
    blocks.push(block);
    block = '';
  }
  return block === '' ? blocks : [...blocks, block];
}

function closes(fence: string, mark: string, line: string): boolean {
  return mark.startsWith(fence) && line.trim() === mark;
}

/** A replacement of `[start, end)` by `text`. A list of them is ascending and does not overlap. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Several passes over a text, in order; each pass counts its offsets in the text that the previous pass produced. */
export type EditLayers = readonly (readonly Edit[])[];

export function applyEdits(text: string, edits: readonly Edit[]): string {
  let result = '';
  let from = 0;
  for (const edit of edits) {
    result += text.slice(from, edit.start) + edit.text;
    from = edit.end;
  }
  return result + text.slice(from);
}

export function applyLayers(text: string, layers: EditLayers): string {
  return layers.reduce(applyEdits, text);
}

/** Converts an offset in the edited text to one in the text before the first layer. */
export function originalOffset(offset: number, layers: EditLayers): number {
  return layers.reduceRight((position, edits) => offsetBefore(position, edits), offset);
}

/** Where text was inserted without replacing any, as offsets in the text after the last layer. */
export function addedRanges(layers: EditLayers): (readonly [start: number, end: number])[] {
  return layers.reduce<(readonly [number, number])[]>((ranges, edits) => {
    const moved = ranges.map(([start, end]) => [offsetAfter(start, edits), offsetAfter(end, edits)] as const);
    return [...moved, ...additions(edits)];
  }, []);
}

function additions(edits: readonly Edit[]): (readonly [start: number, end: number])[] {
  let shift = 0;
  return edits.flatMap(({ start, end, text }) => {
    const at = start + shift;
    shift += text.length - (end - start);
    return start === end && text !== '' ? [[at, at + text.length] as const] : [];
  });
}

function offsetAfter(offset: number, edits: readonly Edit[]): number {
  let shift = 0;
  for (const { start, end, text } of edits) {
    if (start > offset) break;
    shift += text.length - (end - start);
  }
  return offset + shift;
}

/** Replaces every character except line ends by a space, so that all positions stay. */
export function blank(text: string): string {
  return text.replace(/[^\r\n\u2028\u2029]/g, ' ');
}

function offsetBefore(offset: number, edits: readonly Edit[]): number {
  let shift = 0;
  for (const edit of edits) {
    const start = edit.start + shift;
    if (offset < start) break;
    const end = start + edit.text.length;
    if (offset < end) {
      const sameLength = edit.text.length === edit.end - edit.start;
      return sameLength ? edit.start + (offset - start) : edit.start;
    }
    shift += edit.text.length - (edit.end - edit.start);
  }
  return offset - shift;
}

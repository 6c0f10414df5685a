import type { Outcome } from '@toolscript/core';
import { imageHolders, withoutImageData } from '@toolscript/core/internal';

/** A part of a text, with its place if more follows. A part never ends within a character. */
export function textPart(text: string, offset: number, maxLength: number): string {
  const end = characterEnd(text, offset + maxLength);
  const part = text.slice(offset, end);
  return end < text.length ? `${part}\n[characters ${offset} to ${end} of ${text.length}]` : part;
}

/** The index, or the one before if a character of two code units is there. */
function characterEnd(text: string, index: number): number {
  return (text.codePointAt(index - 1) ?? 0) > 0xff_ff ? index - 1 : index;
}

/** The JSON text of a script's value without the data of images, which are shown; undefined without a value. */
export function valueText(outcome: Outcome): string | undefined {
  return outcome.status === 'completed' ? JSON.stringify(shownValue(outcome)) : undefined;
}

/** The value of a script as a model reads it: without the data of images. */
export function shownValue(outcome: Extract<Outcome, { status: 'completed' }>): unknown {
  return withoutImageData(outcome.value, imageHolders(outcome));
}

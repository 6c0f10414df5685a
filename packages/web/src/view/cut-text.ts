const MAX_LENGTH = 400;
const MAX_LINES = 6;

/** At most `length` characters of a text, without half of a pair. */
export function textStart(text: string, length: number): string {
  return text.slice(0, length).replace(/\p{Surrogate}$/u, '');
}

/** The start of a text that a model wrote, and the number of characters after it. */
export function cutText(text: string): { readonly shown: string; readonly omitted: number } {
  const start = textStart(text, MAX_LENGTH).split('\n').slice(0, MAX_LINES).join('\n').trimEnd();
  const omitted = text.trimEnd().length - start.length;
  return { shown: start, omitted };
}

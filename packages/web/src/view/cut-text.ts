const MAX_LENGTH = 400;
const MAX_LINES = 6;

/** The start of a text that a model wrote, and the number of characters after it. */
export function cutText(text: string): { readonly shown: string; readonly omitted: number } {
  const start = text.slice(0, MAX_LENGTH).split('\n').slice(0, MAX_LINES).join('\n').trimEnd();
  const omitted = text.trimEnd().length - start.length;
  return { shown: start, omitted };
}

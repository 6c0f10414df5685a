import type { OutputItem } from '@toolscript/core/protocol';

const MAX_LENGTH = 100;

/** The title of a thread that starts with this input: the first paragraph of the user's first text, truncated. */
export function inputTitle(input: readonly OutputItem[]): string {
  const first = input.find((item) => item.type === 'message' && item.role === 'user');
  return first?.type === 'message' ? first.content.trimStart().split('\n\n', 1)[0]!.slice(0, MAX_LENGTH) : '';
}

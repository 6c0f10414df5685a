import { ATTACHED_FILE_TAG } from '../protocol/attached-file.js';
import type { OutputItem } from '../protocol/index.js';
import type { ScriptOrigin } from '../protocol/provenance.js';

/** Maximum characters of the user's texts that a script's start stores: the latest ones. */
export const MAX_USER_TEXTS = 65_536;

/**
 * The facts of a conversation that decide how the literals of its next script are labelled, for `origin` of
 * `harness.runScript`, `processText` and `callTool`. `items`: the whole conversation, also before a summary.
 *
 * @example
 *
 * ```ts
 * const outcome = await harness.runScript(source, { origin: scriptOrigin(history) });
 * ```
 */
export function scriptOrigin(items: readonly OutputItem[]): ScriptOrigin {
  return {
    userTexts: latest(items.flatMap(userText)),
    hasReadUntrusted: firstUntrusted(items) !== undefined,
    holdsUntrusted: items.some(leavesUntrusted),
  };
}

/** The item from which on the model has read text of unknown authors. */
export function firstUntrusted(items: readonly OutputItem[]): OutputItem | undefined {
  return items.find((item) => item['untrusted'] === true);
}

/** Whether a script has left variables that may hold untrusted text to the next script. */
function leavesUntrusted(item: OutputItem): boolean {
  if (item.type !== 'script_execution_output' || item.heap === undefined) return false;
  return item.operations.some(({ untrusted }) => untrusted === true);
}

/** The text that the user wrote: without attached files, which others may have written. */
export function userText(item: OutputItem): string[] {
  if (item.type === 'compaction') return item.last_message === undefined ? [] : [withoutFiles(item.last_message)];
  return item.type === 'message' && item.role === 'user' && item.untrusted !== true ? [withoutFiles(item.content)] : [];
}

function withoutFiles(text: string): string {
  const at = text.indexOf(`<${ATTACHED_FILE_TAG}`);
  return at === -1 ? text : text.slice(0, at);
}

function latest(texts: readonly string[]): readonly string[] {
  let left = MAX_USER_TEXTS;
  const first = texts.findLastIndex((text) => (left -= text.length) < 0);
  return texts.slice(first + 1);
}

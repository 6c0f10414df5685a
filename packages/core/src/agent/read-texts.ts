import type { OutputItem } from '../protocol/index.js';
import { ATTACHED_FILE_TAG } from '../protocol/attached-file.js';
import { sha256 } from '../text/crypto.js';
import { includesText } from '../text/includes-text.js';

/** Minimum characters of a script that can repeat a text, without blanks and backslashes. */
const MIN_SCRIPT = 24;
/** Maximum characters of the texts that are compared: the latest ones. More would hold the host's event loop too long. */
export const MAX_READ = 250_000;

/**
 * The texts of a conversation that neither its model nor its user wrote: results of scripts and calls, attached files. A
 * script repeats such a text if the whole script stands in it; blanks and backslashes do not count. A script that the
 * model wrote before the text existed does not repeat it: results contain the code that they report on.
 */
export class ReadTexts {
  readonly #items: () => readonly OutputItem[];
  readonly #known = new Set<string>();
  /** Hashes of the scripts that the model wrote itself. */
  readonly #own = new Set<string>();
  #text = '';

  /** `items`: the conversation so far. */
  constructor(items: () => readonly OutputItem[]) {
    this.#items = items;
  }

  repeats(source: string): boolean {
    for (const item of this.#newItems()) {
      if (item.type === 'script_execution') this.#isRepeated(item.source_code);
      else this.#text += `\n${plainText(foreignText(item))}`;
    }
    return this.#isRepeated(source);
  }

  #isRepeated(source: string): boolean {
    const text = plainText(source);
    if (text.length < MIN_SCRIPT) return false;
    const hash = sha256(text);
    if (this.#own.has(hash)) return false;
    // Once for all texts that were added, because it copies them.
    this.#text = this.#text.slice(-MAX_READ);
    if (includesText(this.#text, text)) return true;
    this.#own.add(hash);
    return false;
  }

  /** The latest items that were not read yet, with at most `MAX_READ` characters. */
  #newItems(): OutputItem[] {
    const added = this.#items().filter((item) => isCompared(item) && !this.#known.has(item.id));
    for (const { id } of added) this.#known.add(id);
    let left = MAX_READ;
    const first = added.findLastIndex((item) => (left -= JSON.stringify(item).length) < 0);
    return added.slice(Math.max(first, 0));
  }
}

/** Whether the item is a script, or a complete text that the model did not write. */
function isCompared(item: OutputItem): boolean {
  if (item.type === 'message') return item.role !== 'assistant';
  return item.type === 'script_execution' ? item.source_code !== '' : item.type.endsWith('_output');
}

/** The text of the item that neither the model nor the user wrote: of a user's message, the attached files. */
function foreignText(item: OutputItem): string {
  const isOfUser = item.type === 'message' && item.role === 'user';
  const tag = `<${ATTACHED_FILE_TAG}`;
  if (isOfUser && !item.content.includes(tag)) return '';
  const text = JSON.stringify(item);
  return isOfUser ? text.slice(text.indexOf(tag)) : text;
}

/** The text without blanks and backslashes, so that JSON, lines and indentation make no difference. */
function plainText(text: string): string {
  return text.slice(-MAX_READ).replaceAll(/\\+[nrt]?|\s+/gu, '');
}

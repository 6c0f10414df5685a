import type { ScriptLanguage } from '../protocol/script.js';

/** Tags around a model's reasoning. Their content is never scanned. */
export const REASONING_TAGS: readonly string[] = ['thinking', 'think'];

export interface TagMatch {
  readonly kind: 'script' | 'reasoning';
  readonly closing: boolean;
  readonly name: string;
  readonly language: ScriptLanguage;
  /** Index after the tag's `>`. */
  readonly end: number;
}

/** `partial`: more text is needed to decide. */
export type Match<T> = T | 'partial' | undefined;

// The maximum of text that an unfinished tag withholds.
const OPENING_REST =
  /(?:[ \t]{1,16}lang=(?:"(ts|typescript|js|javascript)"|'(ts|typescript|js|javascript)'))?[ \t]{0,16}>/y;
const OPENING_REST_SO_FAR = /(?:[ \t]{1,16}l[ang]{0,3}=?["']?[a-z]{0,10}["']?)?[ \t]{0,16}$/y;
const PLAIN_REST = /[ \t]{0,16}>/y;
const PLAIN_REST_SO_FAR = /[ \t]{0,16}$/y;

const SLASH = 0x2f;

/** The tags with a meaning in an answer. */
export class TagTable {
  private readonly tags: readonly { readonly name: string; readonly kind: TagMatch['kind'] }[];

  constructor(scriptTags: readonly string[]) {
    this.tags = [
      ...scriptTags.map((name) => ({ name, kind: 'script' as const })),
      ...REASONING_TAGS.map((name) => ({ name, kind: 'reasoning' as const })),
    ];
  }

  /** The tag that begins with the `<` at `index`. With `isLast`, the text is complete and nothing is partial. */
  match(text: string, index: number, isLast: boolean): Match<TagMatch> {
    const closing = text.charCodeAt(index + 1) === SLASH;
    const nameStart = index + (closing ? 2 : 1);
    let partial = false;
    for (const { name, kind } of this.tags) {
      if (text.startsWith(name, nameStart)) {
        const found = matchRest(text, nameStart + name.length, name, kind, closing);
        if (typeof found === 'object') return found;
        if (found === 'partial') partial = true;
      } else if (text.length - nameStart < name.length && name.startsWith(text.slice(nameStart))) {
        partial = true;
      }
    }
    return partial && !isLast ? 'partial' : undefined;
  }
}

export function languageOf(word: string | undefined): ScriptLanguage {
  return word === 'js' || word === 'javascript' ? 'js' : 'ts';
}

function matchRest(
  text: string,
  index: number,
  name: string,
  kind: TagMatch['kind'],
  closing: boolean,
): Match<TagMatch> {
  const takesLanguage = kind === 'script' && !closing;
  const rest = takesLanguage ? OPENING_REST : PLAIN_REST;
  rest.lastIndex = index;
  const found = rest.exec(text);
  if (found !== null) {
    return { kind, closing, name, language: languageOf(found[1] ?? found[2]), end: rest.lastIndex };
  }
  const soFar = takesLanguage ? OPENING_REST_SO_FAR : PLAIN_REST_SO_FAR;
  soFar.lastIndex = index;
  return soFar.test(text) ? 'partial' : undefined;
}

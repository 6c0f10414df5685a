import { transformSync } from 'oxc-transform';
import { isTopLevelReturn } from '../syntax/parse.js';
import type { SyntaxIndex } from '../syntax/syntax-index.js';

/** Maximum length of the output as a multiple of the source's length, plus a constant; a longer output is rejected. */
const MAX_GROWTH = 8;
const ALLOWANCE = 65_536;

export type StripResult =
  | { readonly ok: true; readonly code: string; readonly mappings: string }
  | { readonly ok: false; readonly type: 'too_large'; readonly length: number; readonly most: number }
  /** `offset` refers to the text that `stripTypes` received. */
  | { readonly ok: false; readonly type: 'refused'; readonly message: string; readonly offset: number };

/** Removes the types and converts enums, namespaces and parameter properties to JavaScript. */
export function stripTypes(text: string, index: SyntaxIndex): StripResult {
  const guarded = guardScriptTags(text, index);
  const result = transformSync('script.ts', guarded.text, {
    lang: 'ts',
    sourceType: 'module',
    sourcemap: true,
    target: 'esnext',
    typescript: { onlyRemoveTypeImports: true },
  });
  const error = result.errors.find(({ message }) => !isTopLevelReturn(message));
  if (error !== undefined) {
    return { ok: false, type: 'refused', message: error.message, offset: fromBytes(text, error.labels[0]?.start ?? 0) };
  }
  const code = guarded.restore(result.code);
  const most = text.length * MAX_GROWTH + ALLOWANCE;
  // defence: stripped-code-is-capped
  if (code.length > most) return { ok: false, type: 'too_large', length: code.length, most };
  return { ok: true, code, mappings: result.map?.mappings ?? '' };
}

/**
 * The printer writes `</script` as `<\/script`, and a tagged template can see the difference (`String.raw`). So this
 * function temporarily replaces the slash in tagged templates with a character that the script does not use.
 */
function guardScriptTags(text: string, index: SyntaxIndex): { text: string; restore(code: string): string } {
  const edits = /<\/script/i.test(text) ? taggedSlashes(text, index) : [];
  const stand = edits.length === 0 ? undefined : unusedCharacter(text);
  if (stand === undefined) return { text, restore: (code) => code };
  let guarded = text;
  for (const offset of edits) guarded = guarded.slice(0, offset) + stand + guarded.slice(offset + 1);
  return { text: guarded, restore: (code) => code.replaceAll(stand, '/') };
}

function taggedSlashes(text: string, index: SyntaxIndex): number[] {
  const offsets: number[] = [];
  for (const { node } of index.calls) {
    if (node.type !== 'TaggedTemplateExpression') continue;
    for (const quasi of node.quasi.quasis) {
      const raw = text.slice(quasi.start, quasi.end);
      for (const match of raw.matchAll(/<\/script/gi)) offsets.push(quasi.start + match.index + 1);
    }
  }
  return offsets;
}

function unusedCharacter(text: string): string | undefined {
  for (let code = 0xe000; code <= 0xf8ff; code++) {
    const character = String.fromCharCode(code);
    if (!text.includes(character)) return character;
  }
  return undefined;
}

/** Converts an offset in UTF-8 bytes, in which the transformer counts, to an offset in the text. */
function fromBytes(text: string, bytes: number): number {
  return Buffer.from(text, 'utf8').subarray(0, bytes).toString('utf8').length;
}

import type { NativeDiagnostic } from './checker-process.js';

export const PRIMITIVE = /^(string|number|boolean|bigint|symbol)$/u;

/** The sentences of a diagnostic, the outermost first. */
export function diagnosticSentences(diagnostic: NativeDiagnostic): string[] {
  return [diagnostic.text, ...(diagnostic.messageChain ?? []).flatMap(diagnosticSentences)];
}

export function quotedTexts(text: string): string[] {
  return [...text.matchAll(/'((?:[^']|'(?=[^\s.,)]))*)'/gu)].map(([, inner]) => inner as string);
}

export function firstQuotedText(text: string): string {
  return quotedTexts(text)[0] ?? '';
}

/** Whether values of the type have no explicit members. */
export function isPlainType(type: string): boolean {
  return PRIMITIVE.test(type) || type.endsWith('[]');
}

export function isSimple(type: string): boolean {
  return type === 'string' || type === 'number' || type === 'boolean';
}

export function isLiteral(type: string): boolean {
  return /^(?:"[^"]*"|-?[\d.]+|true|false)$/u.test(type);
}

/** Names of a printed type's own members, sorted and joined. */
export function printedTypeShape(type: string): string {
  const names: string[] = [];
  let depth = 0;
  for (const part of type.split(/(?<=[;{}()<>[\]])/u)) {
    const name = depth === 1 ? /^\s*["']?([\w$-]+)["']?\??:/u.exec(part)?.[1] : undefined;
    if (name !== undefined) names.push(name);
    if (/[{(<[]$/u.test(part)) depth++;
    else if (/[})>\]]$/u.test(part)) depth--;
  }
  return names.toSorted((left, right) => (left < right ? -1 : 1)).join();
}

/** Whether the type is that of a function. A function may receive members at any time. */
export function isFunctionType(type: string): boolean {
  return type.startsWith('typeof ') || /^(new )?[(<].*=> /su.test(type);
}

/** The type of the value that was called or iterated, from the innermost sentence that names such a type. */
export function misusedType(diagnostic: NativeDiagnostic): string {
  const types = diagnosticSentences(diagnostic).map(
    (sentence) => /^Type '(.+?)' (?:has no|must have|is not|can only)/su.exec(sentence)?.[1],
  );
  return types.findLast((type) => type !== undefined) ?? 'unknown';
}

export interface Mismatch {
  readonly from: string;
  readonly to: string;
}

/**
 * Whether the value may be undefined or null, or TypeScript does not know one of the two types (`never`, `unknown`).
 * The script may know that the value fits.
 */
export function isPossiblyMissing({ from, to }: Mismatch, sentences: readonly string[]): boolean {
  if (to === 'never' || /\b(never|unknown)\b/u.test(from)) return true;
  if (!/\b(undefined|null)\b/u.test(from)) return false;
  return (
    isUnion(from) || mismatchedTypes(sentences).some((outer) => isUnion(outer.from) && !outer.from.startsWith('{'))
  );
}

/** The mismatching types, the outermost first. */
export function mismatchedTypes(sentences: readonly string[]): Mismatch[] {
  return sentences.flatMap((sentence) => {
    const match =
      /^(?:Type|Argument of type) '((?:[^']|'(?=[^\s.,)]))+)' is not assignable to (?:type|parameter of type) '((?:[^']|'(?=[^\s.,)]))+)'(?:\.|$)/u.exec(
        sentence,
      );
    return match === null ? [] : [{ from: match[1] as string, to: match[2] as string }];
  });
}

export function missingNames(sentence: string): string[] {
  const one = /^Property '([^']+)' is missing/u.exec(sentence)?.[1];
  if (one !== undefined) return [one];
  if (!sentence.includes(' is missing the following properties from type ')) return [''];
  return (/^[\w$, ]*/u.exec(sentence.slice(sentence.lastIndexOf(': ') + 2))?.[0] ?? '').split(', ');
}

/** The type that lacks members according to a sentence. */
export function incompleteType(sentence: string): string | undefined {
  const match =
    /^Property '(?:[^']|'(?=[^\s.,)]))+' is missing in type '((?:[^']|'(?=[^\s.,)]))+)' but required in type/u.exec(
      sentence,
    ) ?? /^Type '(.+)' is missing the following properties from type/su.exec(sentence);
  return match?.[1];
}

/** A printed type with the choices instead of their names. */
export function withChoices(type: string, choices: ReadonlyMap<string, string>): string {
  return choices.size === 0 ? type : type.replace(/[A-Za-z_$][\w$]*/gu, (name) => choices.get(name) ?? name);
}

/** Whether a printed type is a union on its outermost level. */
export function isUnion(type: string): boolean {
  return unionTypes(type).length > 1;
}

/** The types of which a printed type is the union, on its outermost level. */
export function unionTypes(type: string): string[] {
  const alternatives: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < type.length; index++) {
    const character = type[index] as string;
    if (character === '"') index = type.indexOf('"', index + 1) < 0 ? type.length : type.indexOf('"', index + 1);
    else if ('({[<'.includes(character)) depth++;
    else if (')}]'.includes(character) || (character === '>' && type[index - 1] !== '=')) depth--;
    else if (character === '|' && depth === 0) {
      alternatives.push(type.slice(start, index).trim());
      start = index + 1;
    }
  }
  return [...alternatives, type.slice(start).trim()];
}

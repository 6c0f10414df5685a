import { failure } from '../failure.js';

/** A literal text, or a variable. */
export type TemplatePart = string | { readonly variable: string };

/** Maximum number of `{{` in a text. */
const MAX_BRACES = 5_000;
/** Maximum characters of a filled-in text. */
const MAX_FILLED = 1_000_000;

const OPENING = /\{\{\{\{|\{\{[ \t]*([\p{L}_][\p{L}\p{N}_]{0,63})[ \t]*\}\}|\{\{/gu;

/**
 * Reads a text with `{{variables}}`. `{{{{` stands for two braces, and every other character for itself. Throws a
 * failure that names the line of any other `{{`, and for a text with more than 5 000 of them.
 */
export function parseTemplate(text: string): readonly TemplatePart[] {
  const parts: TemplatePart[] = [];
  let end = 0;
  let count = 0;
  for (const match of text.matchAll(OPENING)) {
    const [found, variable] = match;
    // defence: prompt-braces-are-bounded
    if ((count += 1) > MAX_BRACES) throw tooManyBraces();
    if (match.index > end) parts.push(text.slice(end, match.index));
    end = match.index + found.length;
    if (variable !== undefined) parts.push({ variable });
    else if (found === '{{{{') parts.push('{{');
    else throw badBraces(text, match.index);
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

/** The names of the variables, each once, in the order of the text. */
export function templateVariables(parts: readonly TemplatePart[]): string[] {
  return [...new Set(parts.flatMap((part) => (typeof part === 'string' ? [] : [part.variable])))];
}

/** Replaces each variable once: the values are never read as templates. */
export function fillTemplate(parts: readonly TemplatePart[], values: ReadonlyMap<string, string>): string {
  const texts = parts.map((part) => (typeof part === 'string' ? part : (values.get(part.variable) ?? '')));
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length > MAX_FILLED)
    throw failure(
      'too_large',
      `The prompt with its variables has ${length} characters; at most ${MAX_FILLED} are allowed. Pass shorter variables.`,
    );
  return texts.join('');
}

function tooManyBraces(): Error {
  return failure('bad_prompt', `The prompt has "{{" more than ${MAX_BRACES} times. Make it shorter.`);
}

function badBraces(text: string, offset: number): Error {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line += 1;
  return failure(
    'bad_prompt',
    `"{{" in line ${line} of the prompt starts no variable. Write a variable as {{name}} (letters, digits and "_"), and two braces as "{{{{".`,
    { line },
  );
}

/** A part of a preview: a fact, or a text of several lines. */
export interface PreviewParts {
  /** One line about the call that no argument can break into two. */
  readonly title: string;
  /** Facts, each on its own line. An undefined fact is left out. */
  readonly facts?: Readonly<Record<string, string | undefined>> | undefined;
  /** Texts that are shown whole, such as a source or a diff. */
  readonly texts?: Readonly<Record<string, string | undefined>> | undefined;
  /** Free text of the caller, which is cut and comes last. */
  readonly notes?: Readonly<Record<string, string | undefined>> | undefined;
}

const MAX_NOTE = 1_000;

/**
 * The preview of a call for the user who decides: facts first, free text last. Every line of a text is indented, and a
 * fact has one line, so that no text can produce a line that looks like a fact.
 */
export function previewText({ title, facts = {}, texts = {}, notes = {} }: PreviewParts): string {
  return [
    title,
    ...given(facts).map(([name, fact]) => `${name}: ${oneLine(fact)}`),
    ...given(texts).flatMap(([name, text]) => [`${name}:`, indented(text)]),
    ...given(notes).flatMap(([name, text]) => [`${name}:`, indented(cut(text))]),
  ].join('\n');
}

function given(parts: Readonly<Record<string, string | undefined>>): [string, string][] {
  return Object.entries(parts).filter((part): part is [string, string] => part[1] !== undefined);
}

function indented(text: string): string {
  // defence: free-text-is-indented
  return text.replaceAll(/^/gmu, '    ');
}

function oneLine(text: string): string {
  // defence: facts-have-one-line
  return text.replaceAll(/[\r\n\u2028\u2029]+/gu, ' ');
}

function cut(text: string): string {
  return text.length <= MAX_NOTE ? text : `${text.slice(0, MAX_NOTE)} [… ${text.length - MAX_NOTE} more characters]`;
}

import { parser } from '@lezer/javascript';
import { highlightTree, tagHighlighter, tags } from '@lezer/highlight';

export interface Token {
  readonly text: string;
  /** A class of the stylesheet; empty for plain text. */
  readonly style: string;
}

const typescript = parser.configure({ dialect: 'ts' });

const highlighter = tagHighlighter([
  { tag: tags.comment, class: 'tok-comment' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], class: 'tok-string' },
  { tag: [tags.number, tags.bool, tags.null], class: 'tok-number' },
  { tag: [tags.keyword, tags.controlKeyword, tags.moduleKeyword, tags.definitionKeyword], class: 'tok-keyword' },
  { tag: [tags.typeName, tags.className], class: 'tok-type' },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], class: 'tok-function' },
]);

/** The tokens of each line of a script. A script that is still written is highlighted as far as it goes. */
export function highlightLines(source: string): readonly (readonly Token[])[] {
  const lines: Token[][] = [[]];
  const add = (text: string, style: string) => {
    for (const [index, part] of text.split('\n').entries()) {
      if (index > 0) lines.push([]);
      if (part !== '') lines.at(-1)?.push({ text: part, style });
    }
  };
  let at = 0;
  highlightTree(typescript.parse(source), highlighter, (from, to, style) => {
    if (from > at) add(source.slice(at, from), '');
    add(source.slice(from, to), style);
    at = to;
  });
  add(source.slice(at), '');
  return lines;
}

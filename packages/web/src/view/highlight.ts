import { parser } from '@lezer/javascript';
import { TreeFragment, type Tree } from '@lezer/common';
import { highlightTree, tagHighlighter, tags } from '@lezer/highlight';
import type { Lines, Token } from './lines.ts';

const typescript = parser.configure({ dialect: 'ts' });

const highlighter = tagHighlighter([
  { tag: tags.comment, class: 'tok-comment' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], class: 'tok-string' },
  { tag: [tags.number, tags.bool, tags.null], class: 'tok-number' },
  { tag: [tags.keyword, tags.controlKeyword, tags.moduleKeyword, tags.definitionKeyword], class: 'tok-keyword' },
  { tag: [tags.typeName, tags.className], class: 'tok-type' },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], class: 'tok-function' },
]);

/** Highlights a source that may grow: what was read before is not parsed again. */
export class Highlighter {
  #source = '';
  #tree: Tree | undefined;

  /** The tokens of each line. A script that is still written is highlighted as far as it goes. */
  lines(source: string): Lines {
    const continues = this.#tree !== undefined && source.startsWith(this.#source);
    this.#tree = typescript.parse(source, continues ? this.#knownBefore(source) : []);
    this.#source = source;
    return tokensOf(source, this.#tree);
  }

  /** The parts of the last tree that hold for a source that continues the last one. */
  #knownBefore(source: string): readonly TreeFragment[] {
    const end = this.#source.length;
    const change = { fromA: end, toA: end, fromB: end, toB: source.length };
    return TreeFragment.applyChanges(TreeFragment.addTree(this.#tree!), [change]);
  }
}

function tokensOf(source: string, tree: Tree): Lines {
  const lines: Token[][] = [[]];
  const add = (text: string, style: string) => {
    for (const [index, part] of text.split('\n').entries()) {
      if (index > 0) lines.push([]);
      if (part !== '') lines.at(-1)?.push({ text: part, style });
    }
  };
  let at = 0;
  highlightTree(tree, highlighter, (from, to, style) => {
    if (from > at) add(source.slice(at, from), '');
    add(source.slice(from, to), style);
    at = to;
  });
  add(source.slice(at), '');
  return lines;
}

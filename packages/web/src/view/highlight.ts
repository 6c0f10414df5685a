import { parser } from '@lezer/javascript';
import { TreeFragment, type Tree } from '@lezer/common';
import { highlightTree, tagHighlighter, tags } from '@lezer/highlight';
import { keptLines, type Lines, type Token } from './lines.ts';

const typescript = parser.configure({ dialect: 'ts' });

const highlighter = tagHighlighter([
  { tag: tags.comment, class: 'tok-comment' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], class: 'tok-string' },
  { tag: [tags.number, tags.bool, tags.null], class: 'tok-number' },
  { tag: [tags.keyword, tags.controlKeyword, tags.moduleKeyword, tags.definitionKeyword], class: 'tok-keyword' },
  { tag: [tags.typeName, tags.className], class: 'tok-type' },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], class: 'tok-function' },
]);

/** While a source grows, tokens that are more than this many characters before its end are final. */
const UNSETTLED = 4_000;

/**
 * Highlights a growing source incrementally: lines far before the end keep their tokens. In rare cases, later text
 * would change such tokens, so a source that has stopped growing is highlighted again by a new highlighter.
 */
export class Highlighter {
  #source = '';
  #tree: Tree | undefined;
  #lines: Lines = [];
  /** The number of lines with final tokens, and the index at which the next line starts. */
  #settledEnd = { lines: 0, at: 0 };
  /** Whether lines have kept tokens that a new highlighter might change. */
  hasKeptTokens = false;

  /** The tokens of each line. An incomplete script is highlighted up to its end. */
  lines(source: string): Lines {
    const continues = this.#tree !== undefined && source.startsWith(this.#source);
    this.#tree = typescript.parse(source, continues ? this.#knownBefore(source) : []);
    this.#source = source;
    if (!continues) this.#settledEnd = { lines: 0, at: 0 };
    const { lines, at } = this.#settledEnd;
    this.hasKeptTokens = lines > 0;
    const fresh = keptLines(this.#lines.slice(lines), lineTokens(source, this.#tree, at));
    this.#lines = [...this.#lines.slice(0, lines), ...fresh];
    this.#settle();
    return this.#lines;
  }

  #settle(): void {
    let { lines, at } = this.#settledEnd;
    for (;;) {
      const next = at + tokensLength(this.#lines[lines] ?? []) + 1;
      if (next > this.#source.length - UNSETTLED) break;
      [lines, at] = [lines + 1, next];
    }
    this.#settledEnd = { lines, at };
  }

  /** The parts of the last syntax tree that are valid for a continuation of its source. */
  #knownBefore(source: string): readonly TreeFragment[] {
    const end = this.#source.length;
    const change = { fromA: end, toA: end, fromB: end, toB: source.length };
    return TreeFragment.applyChanges(TreeFragment.addTree(this.#tree!), [change]);
  }
}

function tokensLength(tokens: readonly Token[]): number {
  return tokens.reduce((length, { text }) => length + text.length, 0);
}

/** The tokens of the last lines. `start`: the index at which the first of these lines starts. */
function lineTokens(source: string, tree: Tree, start: number): Lines {
  const lines: Token[][] = [[]];
  const add = (text: string, style: string) => {
    for (const [index, part] of text.split('\n').entries()) {
      if (index > 0) lines.push([]);
      if (part !== '') lines.at(-1)?.push({ text: part, style });
    }
  };
  let at = start;
  const put = (from: number, to: number, style: string) => {
    if (to <= at) return;
    const begin = Math.max(from, at);
    if (begin > at) add(source.slice(at, begin), '');
    add(source.slice(begin, to), style);
    at = to;
  };
  highlightTree(tree, highlighter, put, start);
  add(source.slice(at), '');
  return lines;
}

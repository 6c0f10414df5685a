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

/** While a source grows, its tokens are settled this far before its end. */
const UNSETTLED = 4_000;

/**
 * Highlights a source that may grow: what was read before is not parsed again, and lines far before the end keep their
 * tokens. Later text can change tokens that are settled, if rarely: a source that has ended is read by a new one.
 */
export class Highlighter {
  #source = '';
  #tree: Tree | undefined;
  #lines: Lines = [];
  /** The lines that are settled, and where the next one begins. */
  #settled = { lines: 0, at: 0 };
  /** Whether lines have kept tokens that a new highlighter might read in another way. */
  hasKeptTokens = false;

  /** The tokens of each line. A script that is still written is highlighted as far as it goes. */
  lines(source: string): Lines {
    const continues = this.#tree !== undefined && source.startsWith(this.#source);
    this.#tree = typescript.parse(source, continues ? this.#knownBefore(source) : []);
    this.#source = source;
    if (!continues) this.#settled = { lines: 0, at: 0 };
    const { lines, at } = this.#settled;
    this.hasKeptTokens = lines > 0;
    const fresh = keptLines(this.#lines.slice(lines), tokensOf(source, this.#tree, at));
    this.#lines = [...this.#lines.slice(0, lines), ...fresh];
    this.#settle();
    return this.#lines;
  }

  #settle(): void {
    let { lines, at } = this.#settled;
    for (;;) {
      const next = at + lengthOf(this.#lines[lines] ?? []) + 1;
      if (next > this.#source.length - UNSETTLED) break;
      [lines, at] = [lines + 1, next];
    }
    this.#settled = { lines, at };
  }

  /** The parts of the last tree that hold for a source that continues the last one. */
  #knownBefore(source: string): readonly TreeFragment[] {
    const end = this.#source.length;
    const change = { fromA: end, toA: end, fromB: end, toB: source.length };
    return TreeFragment.applyChanges(TreeFragment.addTree(this.#tree!), [change]);
  }
}

function lengthOf(tokens: readonly Token[]): number {
  return tokens.reduce((length, { text }) => length + text.length, 0);
}

/** The tokens of the lines from a start of a line on. */
function tokensOf(source: string, tree: Tree, start: number): Lines {
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

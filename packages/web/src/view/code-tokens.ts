import { plainLines, type Lines, type Token } from './lines.ts';

/** The comments of families of languages. TypeScript and JavaScript have a parser: see `highlight.ts`. */
const COMMENTS = {
  slash: String.raw`\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)`,
  hash: String.raw`#[^\n]*`,
  dashes: String.raw`--[^\n]*|\/\*[^]*?(?:\*\/|$)`,
  markup: '<!--[^]*?(?:-->|$)',
  none: '(?!)',
} as const;

const FAMILIES: Readonly<Record<keyof typeof COMMENTS, string>> = {
  slash: 'go golang rust rs java c h cpp c++ cc cs csharp c# kotlin kt swift php scala dart css scss',
  hash: 'python py bash sh shell zsh console ruby rb yaml yml toml ini perl r dockerfile makefile powershell',
  dashes: 'sql postgresql mysql sqlite lua haskell',
  markup: 'html xml svg vue',
  none: 'diff json jsonc json5',
};

const WORDS = [
  'abstract and as async await begin break case catch class const continue create def default defer delete do done drop',
  'elif else end enum esac except export extends false fi final finally fn for foreach from fun func function go group',
  'if impl implements import in insert int interface into is join lambda let limit local loop match mod module mut new',
  'nil None not null on or order package pass private protected pub public raise return select self set static struct',
  'super switch table then this throw trait true True False try type union update use using values var void where while',
  'with yield',
].join(' ');

/** A quote without an end within 200 characters is plain: so no text takes long. */
const STRINGS = String.raw`"""[^]*?(?:"""|$)|"(?:[^"\\\n]|\\.){0,200}"|'(?:[^'\\\n]|\\.){0,200}'`;

const STYLES = ['tok-comment', 'tok-string', 'tok-number', 'tok-keyword'];

const patterns = new Map<string, RegExp>();

for (const [family, names] of Object.entries(FAMILIES)) {
  const comment = COMMENTS[family as keyof typeof COMMENTS];
  const flags = family === 'dashes' ? 'giu' : 'gu';
  const words = WORDS.replaceAll(' ', '|');
  const pattern = new RegExp(String.raw`(${comment})|(${STRINGS})|(\b\d[\w.]*)|(\b(?:${words})\b)`, flags);
  for (const name of names.split(' ')) patterns.set(name, pattern);
}

/** The tokens of each line of code in a language; plain lines if the language is unknown. */
export function codeTokens(source: string, language: string): Lines {
  const pattern = patterns.get(language.toLowerCase());
  if (pattern === undefined) return plainLines(source);
  const tokens: Token[] = [];
  let end = 0;
  for (const match of source.matchAll(pattern)) {
    tokens.push({ text: source.slice(end, match.index), style: '' });
    tokens.push({ text: match[0], style: STYLES[match.slice(1).findIndex((group) => group !== undefined)]! });
    end = match.index + match[0].length;
  }
  return inLines([...tokens, { text: source.slice(end), style: '' }]);
}

function inLines(tokens: readonly Token[]): Lines {
  const lines: Token[][] = [[]];
  for (const { text, style } of tokens)
    for (const [index, part] of text.split('\n').entries()) {
      if (index > 0) lines.push([]);
      if (part !== '') lines.at(-1)!.push({ text: part, style });
    }
  return lines;
}

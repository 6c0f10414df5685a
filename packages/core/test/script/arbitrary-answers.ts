import fc from 'fast-check';

/** The parts of answers, complete and broken. */
const PIECES = [
  '<tool-calls>',
  '</tool-calls>',
  '<tool-calls',
  '</tool-calls',
  '<tool-calls lang="js">',
  '<tool-calls  >',
  '<script>',
  '</script>',
  '<think>',
  '</think>',
  '<thinking>',
  '</thinking>',
  '<',
  '>',
  '</',
  '`',
  '``',
  '```',
  '````',
  '~~~',
  '~',
  '```ts tool-calls\n',
  '```js  tool-calls\r\n',
  '```js\n',
  '\n```\n',
  '\n```',
  ' tool-calls',
  '`'.repeat(34),
  '\n',
  '\n\n',
  '\r\n',
  '\r',
  ' ',
  '    ',
  '\t',
  '- ',
  '1. ',
  '> ',
  '\\',
  '"',
  "'",
  '/',
  '//',
  '/*',
  '*/',
  '${',
  '{',
  '}',
  '(',
  ')',
  '[',
  ']',
  '+',
  '!',
  '.',
  '=',
  'return',
  'if',
  'a',
  'word ',
  '1',
  '😀',
  '\uD83D',
  '\uDE00',
  '\uFEFF',
  '\u0000',
  '\u2028',
  '\n<tool-calls>\n',
  '\n</tool-calls>\n',
  '\nreturn `x`\n',
  'text',
];

const rubble = (maxLength: number) =>
  fc.array(fc.constantFrom(...PIECES), { maxLength, size: 'max' }).map((pieces) => pieces.join(''));

const between = (opening: string, closing: string) => rubble(6).map((body) => opening + body + closing);

const sections = fc.oneof(
  rubble(8),
  between('\n<tool-calls>\n', '\n</tool-calls>\n'),
  between('<tool-calls>', '</tool-calls>'),
  between('\n```ts tool-calls\n', '\n```\n'),
  between('\n```js\n', '\n```\n'),
  between('<think>', '</think>'),
  between('`', '`'),
);

/** Answers of every kind: prose, blocks, and fragments of both. */
export const answers = fc.oneof(
  rubble(40),
  fc.array(sections, { maxLength: 6, size: 'max' }).map((parts) => parts.join('')),
);
/** The text in chunks, split at these places. */
export function splitAt(text: string, cuts: readonly number[]): string[] {
  const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
  return [...places, text.length].map((place, index) => text.slice(places[index - 1] ?? 0, place));
}

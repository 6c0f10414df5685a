/**
 * Estimates the tokens of a prompt without a tokenizer. The estimate is deliberately high, for text that must not
 * exceed its budget. The function splits text where current tokenizers do (o200k_base: words at capitals, numbers in
 * threes, runs of punctuation) and weighs each part. A few hundred frequent words are one token. Any other word of
 * common letter pairs is about one token, and every rare pair adds more. Text in other scripts is weighed by character.
 * Compared with o200k_base, the estimate is 1.05 to 1.2 times the tokens of English and TypeScript, 1.0 to 1.7 times
 * those of other languages, and 1.05 times those of random letters.
 *
 * Lines are weighed separately, so the estimate of a text is the sum of the estimates of its lines.
 */
export function estimatePromptTokens(text: string): number {
  let tokens = 0;
  for (const { 0: piece, index } of text.matchAll(PIECES))
    tokens += piece === ' ' ? spaceTokens(text.charCodeAt(index + 1)) : pieceTokens(piece);
  return tokens;
}

const PIECES = /[\r\n]+|[^\S\r\n]+|\p{N}{1,3}|[\p{L}\p{M}]+|[^\s\p{L}\p{N}\p{M}]+[\r\n]*/gu;
const LATIN = 'A-Za-z\\u00c0-\\u024f\\u1e00-\\u1eff';
const WORDS = new RegExp(`[A-Z]+(?![a-z])|[A-Z]?[${LATIN.slice(3)}]+|[^${LATIN}]+`, 'gu');

/** Punctuation sequences that form one token. Other sequences of several characters cost more. */
const COMMON_SIGNS = /^(?:\/\*\*|\*\/|\/\/|\?:|=>|\[\]|[`"')\]}>][,.;:)]|\(["'`{[]|"?:|\);|\}\);|##+|```|\|\|)$/u;

/** Letter pairs that are common in English words and identifiers: first letter, then its followers. */
const COMMON_PAIRS =
  'abcdfgilmnprstuvwy baeijloruy caehiklorstu dadeilorsu eabcdefglmnopqrstvwxy faefilorsu gehilnrsu haeiortu ' +
  'iabcdefglmnoprstvz jes kaeis labdeilostuvy mabeilmopsu nacdefgiklnopstuvy oabcdfgilmnoprstuvw paeilmoprstu ' +
  'qu racdefgiklmnorstuvy sacehiloprstuy tacehiloprstuy uabcefilmnprst vaeio waehinors xapt ynops zeo';

/** Frequent words in declarations and descriptions that count as one token, capitalized or not. */
const ONE_TOKEN_WORDS: ReadonlySet<string> = new Set(
  (
    'about absolute access accessible account additional after again against agent algorithm all alpha already ' +
    'always amount and answer answers application approval are arguments array ask asked async audio ' +
    'authentication available await axis background badge based before behind being bench between body book ' +
    'booking boolean branch brand break budget bytes calculate call calls can case categories category ' +
    'certificate character characters chart check city class code color column com comment comments company ' +
    'completed configuration confirmation console const content context control conversation convert copy ' +
    'copyright country create currency current custom dashboard data date decision default defaults delete ' +
    'dependency description destination details directory discussion disk distance docker does domain draft ' +
    'duration each either email end enum environment error event events example exec execute execution existing ' +
    'exists export expression failure false fetch field fields file files filter filters find first for format ' +
    'frequency from function gate generate get github given group groups has height help html http identifier ' +
    'image images img import include included includes including index information input integer interface ' +
    'investment issue issues item items its java javascript job jobs join journal json key keyword keywords ' +
    'known language latitude left length level like limit limits line lines list live location longitude look ' +
    'major make makes markdown match max maximum medium members memory message method minimum model more ' +
    'multiple must name names namespace new next node not nothing null number object one only open operation ' +
    'operations optional options order org organization other otherwise output owner package packages page ' +
    'pagination parallel parameter parameters parent parts password path paths pattern patterns payload pending ' +
    'platform player policy position prefix preview previous principal private process product profile project ' +
    'projects promise prompt properties property protocol provide provided provider proxy python query queue ' +
    'radius range read record reference registry replace repo repository request requests require required ' +
    'response result results retrieve return returned returns review run sandbox schema script scripts search ' +
    'segment server service set settings should signal simple size source specific src start started state ' +
    'status store stream string style subject subscription successful such summary svg switch symbol syntax ' +
    'system take taken target task tasks temperature template test text that the their this thread through time ' +
    'title token tokens tool tools true two type undefined unique unit unknown update updated updates usage use ' +
    'used user username users using validation value values verb verify version void weather website week ' +
    'weight what when where whether which why widget width will window with within without workflow write ' +
    'written year years you'
  ).split(' '),
);

const WORD = 0.95;
const LETTER = 0.05;
const RARE_PAIR = 0.75;
const CAPITAL = 0.15;
const ACCENTED_LETTER = 0.6;
const MORE_SIGNS = 0.65;
const MAX_PLAIN_WORD = 13;
const LATER_LETTER = 0.2;

/** Tokens of a character, by the code point at which its block ends (exclusive). */
const CHARACTER_TOKENS: readonly (readonly [number, number])[] = [
  [0x80, 1],
  [0x250, 0.9],
  [0x370, 2],
  [0x400, 0.6],
  [0x530, 0.42],
  [0x600, 0.5],
  [0x700, 0.5],
  [0x900, 2],
  [0xe00, 0.5],
  [0xe80, 0.6],
  [0x1000, 1.6],
  [0x10a0, 0.85],
  [0x1100, 0.45],
  [0x1200, 2],
  [0x1400, 2.4],
  [0x1780, 3],
  [0x1800, 0.8],
  [0x1e00, 3],
  [0x2000, 1],
  [0x2e80, 2],
  [0x3040, 1],
  [0x3100, 0.75],
  [0x3400, 1.2],
  [0xa000, 1],
  [0xac00, 3],
  [0xd800, 0.78],
  [0xff00, 3],
  [0xfff0, 1],
];
const RARE_CHARACTER = 3.5;

/**
 * The tokens of a single space. The space belongs to the following word or punctuation, but not to a following number.
 */
function spaceTokens(next: number): number {
  return next >= 0x30 && next <= 0x39 ? 1 : 0;
}

function pieceTokens(piece: string): number {
  const first = piece.charCodeAt(0);
  if (/^[\s\p{N}]/u.test(piece)) return first < 0x80 ? 1 : Math.max(1, charactersTokens(piece));
  if (/^[\p{L}\p{M}]/u.test(piece)) return lettersTokens(piece);
  // Line endings belong to the punctuation before them.
  return signsTokens(piece.trimEnd());
}

function lettersTokens(letters: string): number {
  let tokens = 0;
  for (const [word] of letters.matchAll(WORDS)) {
    const code = word.charCodeAt(0);
    const isLatin = code < 0x250 || (code >= 0x1e00 && code < 0x1f00);
    tokens += isLatin ? wordTokens(word) : charactersTokens(word);
  }
  return tokens;
}

function wordTokens(word: string): number {
  if (ONE_TOKEN_WORDS.has(word) || ONE_TOKEN_WORDS.has(word.charAt(0).toLowerCase() + word.slice(1))) return 1;
  let tokens = WORD + LETTER * word.length + LATER_LETTER * Math.max(0, word.length - MAX_PLAIN_WORD);
  if (word.length > 1 && /^[A-Z]+$/u.test(word)) tokens += CAPITAL * word.length;
  const lower = word.toLowerCase();
  let last = -1;
  for (let index = 0; index < lower.length; index++) {
    const letter = lower.charCodeAt(index) - 97;
    if (letter < 0 || letter > 25) tokens += ACCENTED_LETTER;
    else if (last >= 0 && !isCommonPair(last, letter)) tokens += RARE_PAIR;
    last = letter <= 25 ? letter : -1;
  }
  return tokens;
}

function signsTokens(signs: string): number {
  if (COMMON_SIGNS.test(signs)) return 1;
  let ascii = 0;
  let tokens = 0;
  for (const sign of signs) {
    if (sign < '\u0080') ascii += 1;
    else tokens += characterTokens(sign.codePointAt(0) as number);
  }
  return ascii === 0 ? tokens : tokens + 1 + MORE_SIGNS * (ascii - 1);
}

function charactersTokens(characters: string): number {
  let tokens = 0;
  for (const character of characters) tokens += characterTokens(character.codePointAt(0) as number);
  return tokens;
}

function characterTokens(codePoint: number): number {
  for (const [end, tokens] of CHARACTER_TOKENS) if (codePoint < end) return tokens;
  return RARE_CHARACTER;
}

/** The table has 1 for each common pair and 0 for all others, at `first * 26 + second`. */
let commonPairs: Uint8Array | undefined;

/**
 * Whether two letters are a common pair. `first` and `second`: the positions of the letters in the alphabet, from 0.
 */
function isCommonPair(first: number, second: number): boolean {
  commonPairs ??= readPairs(COMMON_PAIRS);
  return commonPairs[first * 26 + second] === 1;
}

function readPairs(text: string): Uint8Array {
  const pairs = new Uint8Array(26 * 26);
  for (const [first = '', ...followers] of text.split(' '))
    for (const follower of followers) pairs[(first.charCodeAt(0) - 97) * 26 + follower.charCodeAt(0) - 97] = 1;
  return pairs;
}

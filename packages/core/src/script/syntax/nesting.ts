import {
  CONTINUING_WORDS,
  CONTROL_WORDS,
  FRESH_STATEMENTS,
  JOINING_WORDS,
  NESTING_STATEMENTS,
  NestingLevels,
  OPERATOR_WORDS,
  PREFIX_WORDS,
  RESERVED_WORDS,
  TYPE_WORDS,
  type Opener,
} from './nesting-levels.js';
import { LineWeight, findCostlyProperty } from './parse-costs.js';

/**
 * Maximum depth of nesting. The scan reads the raw text before the parser, and counts the constructs that make a
 * recursive parser recurse.
 *
 * Brackets count while they are open. Within a bracket, operators that nest to the right (`!`, `=>`, `?`, `=`, `**`,
 * `else`, `typeof`, …) count until their statement or list element ends; a `<` counts until its `>`, because the parser
 * tries each `<` as a list of type arguments and again as a comparison; regular expressions and BigInts count because
 * the parser records the path to each of them. The sum is the depth.
 *
 * Strings, comments, templates and regular expressions are skipped. The scan works as a tokeniser, not as a parser. If
 * the scan is wrong, it counts too much rather than too little. The error is far below the limit.
 */
const MAX_NESTING = 256;

/** Maximum number of groups per regular expression, because the time to check them grows quadratically. */
const MAX_GROUPS = 4096;

/**
 * Maximum product of the number of names after a `var` and the number of blocks around it, because the parser records
 * each name in each block.
 */
const MAX_HOISTED = 262_144;

/** The kind and the offset of the construct that exceeds a limit. */
export interface Excess {
  readonly kind: 'nesting' | 'line' | 'properties';
  readonly offset: number;
}

/**
 * The first construct that the parser must not read; undefined if the parser may read the whole text. The scan takes
 * linear time.
 */
export function findExcess(text: string): Excess | undefined {
  // defence: character-properties
  return findCostlyProperty(text) ?? new NestingScan(text).run();
}

/** The kind of the previous token, which decides how the next token is read. */
type Before =
  /** The end of a value: a following operand starts a new statement, and a `/` divides. */
  | 'operand'
  /** The end of a block: a following operand starts a new statement, and a `/` starts a regular expression. */
  | 'block'
  /** A word that may be a name or an operator: a `/` divides, and a following operand continues the statement. */
  | 'word'
  | 'operator';

const WORD = /(?:\\u\{[\da-fA-F]*\}|\\|#|[\p{ID_Continue}$\u200c\u200d])+/uy;
const NUMBER = /[0-9][\w.]*/y;
/** An escape that may be invalid. The parser reports each invalid escape separately. */
const DOUBTFUL_ESCAPE = /\\[\dxu]/g;
/** Keys that a literal or a class may not have twice. */
const SINGLE_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
const LINE_END = /[\n\r\u2028\u2029]/g;

/**
 * Operators that the parser may report more than once. The parser reports any other wrong operator once, and then
 * stops.
 */
const OPERATOR_THAT_MAY_BE_WRONG = /^(?:=[^=]|\*\*|\?[?.]|\|\||&&|\.\.|<!|@)/su;

class NestingScan {
  readonly #text: string;
  readonly #lines: LineWeight;
  readonly #levels = new NestingLevels();
  #at = 0;
  #before: Before = 'operator';
  #word = '';
  #afterDot = false;
  #fresh = false;
  /** True inside a namespace's name, where each dot nests another namespace. */
  #inNamespaceName = false;
  /** The greatest nesting depth of a `var` so far. */
  #varDepth = 0;
  #hoistedCount = 0;
  #excess: Excess | undefined;

  constructor(text: string) {
    this.#text = text;
    this.#lines = new LineWeight(text);
  }

  run(): Excess | undefined {
    while (this.#at < this.#text.length && this.#excess === undefined) this.#token();
    return this.#excess;
  }

  #token(): void {
    const character = this.#text.charAt(this.#at);
    if (character <= ' ' || /\s/.test(character)) {
      this.#at++;
      return;
    }
    if (character === '/') return this.#slash();
    if (this.#fresh && !this.#text.startsWith('else', this.#at)) this.#endStatement();
    if (/[0-9]/.test(character)) return this.#readNumber();
    if (character === '"' || character === "'") return this.#string(character);
    if (character === '`') return this.#template(this.#at + 1);
    if (/[\w$#\\]/.test(character) || character > '\u007f') return this.#readWord();
    this.#punctuation(character);
  }

  // Words and literals

  #readWord(): void {
    WORD.lastIndex = this.#at;
    const word = WORD.exec(this.#text)?.[0] ?? this.#text.charAt(this.#at);
    const start = this.#at;
    this.#at += word.length;
    if (this.#mayBeWrong(word)) this.#weigh(start);
    if (word.includes('\\')) this.#escapes(word, start);
    this.#hoist(word, start);
    if (this.#afterDot) return this.#operand(word);
    if (CONTINUING_WORDS.has(word)) return this.#continuing(word, start);
    if (FRESH_STATEMENTS.has(word)) {
      if (word !== 'function' || this.#before !== 'operator') this.#endStatement();
      return this.#became('operator', word);
    }
    if (NESTING_STATEMENTS.has(word)) return this.#nestingStatement(word, start);
    if (word === 'await' && this.#word === 'for') return this.#became('operator', 'for');
    if (PREFIX_WORDS.has(word)) {
      this.#startOperand();
      this.#nest(start);
      return this.#became('operator', word);
    }
    if (TYPE_WORDS.has(word)) {
      this.#nest(start);
      return this.#became('word', word);
    }
    if (word === 'async') this.#startOperand();
    if (word === 'namespace' || word === 'module') {
      this.#startOperand();
      this.#inNamespaceName = true;
      return this.#became('word', word);
    }
    if (JOINING_WORDS.has(word)) return this.#became('word', word);
    if (OPERATOR_WORDS.has(word)) return this.#became('operator', word);
    this.#startOperand();
    this.#operand(word);
  }

  /**
   * Whether the parser could report an error at this word. The parser never reports a member's name, and rarely reports
   * a key.
   */
  #mayBeWrong(word: string): boolean {
    if (word.startsWith('#') || word.includes('\\')) return true;
    if (this.#afterDot || word === 'true' || word === 'false' || word === 'null') return false;
    return this.#text.charAt(this.#at) !== ':' || RESERVED_WORDS.has(word) || SINGLE_KEYS.has(word);
  }

  #hoist(word: string, start: number): void {
    if (word === 'var') this.#varDepth = Math.max(this.#varDepth, this.#levels.depth);
    this.#hoistedCount += this.#varDepth;
    // defence: hoisted-names
    if (this.#hoistedCount > MAX_HOISTED) this.#tooDeep(start);
  }

  #continuing(word: string, start: number): void {
    if (word === 'else') this.#nest(start);
    this.#became('operator', word);
  }

  #nestingStatement(word: string, start: number): void {
    if (this.#before === 'operand' || this.#before === 'block') this.#endStatement();
    if (this.#word !== 'else') this.#nest(start);
    this.#became('operator', word);
  }

  /** Counts the invalid escapes of a word: each is a separate error of the parser. */
  #escapes(word: string, start: number): void {
    const count = word.replace(/\\u(?:\{[\da-fA-F]+\}|[\da-fA-F]{4})/g, '').split('\\').length - 1;
    this.#nest(start, count);
  }

  #readNumber(): void {
    NUMBER.lastIndex = this.#at;
    const number = NUMBER.exec(this.#text)?.[0] ?? '0';
    this.#startOperand();
    if (number.endsWith('n')) this.#nest(this.#at);
    if (/^0\d|_/.test(number)) this.#weigh(this.#at);
    this.#at += number.length;
    this.#operand('');
  }

  #string(quote: string): void {
    this.#startOperand();
    let at = this.#at + 1;
    for (; at < this.#text.length; at++) {
      const character = this.#text.charAt(at);
      if (character === '\\') at += this.#text.startsWith('\r\n', at + 1) ? 2 : 1;
      else if (character === quote || character === '\n' || character === '\r') break;
    }
    this.#weighText(this.#at, at);
    this.#at = at + 1;
    this.#operand('');
  }

  /** Reads a template's text up to its end or its next `${`. */
  #template(from: number): void {
    for (let at = from; at < this.#text.length; at++) {
      const character = this.#text.charAt(at);
      if (character === '\\') at++;
      else if (character === '`') {
        this.#weighText(from, at);
        this.#at = at + 1;
        return this.#operand('');
      } else if (character === '$' && this.#text.charAt(at + 1) === '{') {
        this.#weighText(from, at);
        this.#at = at + 2;
        return this.#open('${', false, false, at);
      }
    }
    this.#at = this.#text.length;
  }

  #slash(): void {
    const next = this.#text.charAt(this.#at + 1);
    if (next === '/') {
      LINE_END.lastIndex = this.#at;
      this.#at = LINE_END.exec(this.#text)?.index ?? this.#text.length;
    } else if (next === '*') {
      const end = this.#text.indexOf('*/', this.#at + 2);
      this.#at = end < 0 ? this.#text.length : end + 2;
    } else if (this.#before === 'operand' || this.#before === 'word') {
      this.#at++;
      this.#became('operator', '');
    } else this.#regularExpression();
  }

  /**
   * Reads a regular expression. After a block, a `)` or a `>`, the `/` may be a division instead, so brackets in the
   * pattern count as nesting.
   */
  #regularExpression(): void {
    const ambiguous = this.#before === 'block' || this.#word === ')' || this.#word === '>';
    if (this.#fresh) this.#endStatement();
    const start = this.#at;
    let openers = 0;
    let inClass = false;
    let at = start + 1;
    for (; at < this.#text.length; at++) {
      const character = this.#text.charAt(at);
      if (character === '\n' || character === '\r') break;
      if (character === '\\') at++;
      else if (character === '[') inClass = true;
      else if (character === ']') inClass = false;
      else if (character === '/' && !inClass) break;
      if ('([{<'.includes(character)) openers++;
    }
    this.#nest(start);
    this.#weigh(start);
    if (openers > MAX_GROUPS || (ambiguous && this.#levels.depth + openers > MAX_NESTING)) this.#tooDeep(start);
    this.#at = at + 1;
    this.#operand('');
  }

  // Punctuation

  #punctuation(character: string): void {
    const start = this.#at;
    const next = this.#text.charAt(start + 1);
    this.#at++;
    if (OPERATOR_THAT_MAY_BE_WRONG.test(character + next)) this.#weigh(start);
    switch (character) {
      case '(':
        return this.#open('(', CONTROL_WORDS.has(this.#word), false, start);
      case '[':
        return this.#open('[', false, false, start);
      case '{':
        return this.#open('{', false, this.#opensBlock(), start);
      case ')':
      case ']':
      case '}':
        return this.#close(character);
      case ';':
        this.#fresh = true;
        return this.#became('operator', '');
      case ',':
        this.#levels.endElement();
        return this.#became('operator', '');
      case '.':
        return this.#dot(next);
      case '?':
        return this.#question(next, start);
      case ':':
        return this.#colon(start);
      case '<':
        return this.#lessThan(next, start);
      case '>':
        return this.#greaterThan(next);
      case '=':
        return this.#equals(next, start);
      case '!':
        return this.#exclamation(next, start);
      case '+':
      case '-':
        return this.#sign(character, next, start);
      case '~':
        this.#nest(start);
        return this.#became('operator', '');
      case '*':
        if (next === '*') {
          this.#at++;
          this.#nest(start);
        }
        return this.#became('operator', '');
      default:
        return this.#became('operator', '');
    }
  }

  #dot(next: string): void {
    if (next === '.') this.#at += this.#text.charAt(this.#at + 1) === '.' ? 2 : 1;
    if (this.#inNamespaceName) this.#nest(this.#at);
    this.#became('operator', '');
    this.#afterDot = next !== '.';
  }

  #question(next: string, start: number): void {
    if (next === '.' && !/[0-9]/.test(this.#text.charAt(start + 2))) {
      this.#at++;
      this.#became('operator', '');
      this.#afterDot = true;
      return;
    }
    if (next === '?') this.#at++;
    else {
      this.#levels.askQuestion();
      this.#check(start);
    }
    this.#became('operator', '');
  }

  #colon(start: number): void {
    let word = '?:';
    if (!this.#levels.answerQuestion() && this.#levels.inBlock) {
      word = 'label:';
      this.#weigh(start);
      this.#nest(start);
    }
    this.#became('operator', word);
  }

  #lessThan(next: string, start: number): void {
    if (next === '=' || next === '<') this.#at++;
    if (next !== '=') {
      this.#levels.openAngle();
      this.#check(start);
    }
    this.#became('operator', '');
  }

  #greaterThan(next: string): void {
    if (next === '=') this.#at++;
    else this.#levels.closeAngle();
    this.#became('operator', '>');
  }

  #equals(next: string, start: number): void {
    if (next === '=') {
      this.#at += this.#text.charAt(start + 2) === '=' ? 2 : 1;
    } else {
      if (next === '>') this.#at++;
      this.#nest(start);
    }
    this.#became('operator', next === '>' ? '=>' : '');
  }

  #exclamation(next: string, start: number): void {
    if (next === '=' && this.#before !== 'operator') {
      this.#at += this.#text.charAt(start + 2) === '=' ? 2 : 1;
      return this.#became('operator', '');
    }
    if (this.#before === 'operand' || this.#before === 'word') return this.#operand('');
    this.#nest(start);
    this.#became('operator', '');
  }

  #sign(character: string, next: string, start: number): void {
    const doubled = next === character;
    if (doubled) this.#at++;
    if (doubled && this.#before === 'operand') return this.#operand('');
    if (this.#before !== 'operand') this.#nest(start);
    this.#became('operator', '');
  }

  // Levels

  #opensBlock(): boolean {
    if (this.#before !== 'operator') return true;
    if (this.#word === '?:') return false;
    if (['else', 'do', 'try', 'finally', 'catch', 'class', '=>', '>', 'label:', ')'].includes(this.#word)) return true;
    return this.#levels.inBlock && this.#startsStatement();
  }

  /** Whether a statement starts at the current bracket: true only directly after `;`, `{` or the start of the text. */
  #startsStatement(): boolean {
    for (let at = this.#at - 2; at >= 0; at--) {
      const character = this.#text.charAt(at);
      if (!/\s/.test(character)) return character === ';' || character === '{';
    }
    return true;
  }

  #open(opener: Opener, control: boolean, block: boolean, start: number): void {
    this.#levels.open({ opener, control, block });
    this.#inNamespaceName = false;
    this.#check(start);
    this.#became('operator', '');
  }

  #close(closer: string): void {
    const closed = this.#levels.close(closer);
    if (closed === undefined) return this.#became('operator', '');
    this.#fresh = false;
    if (closed.opener === '${') return this.#template(this.#at);
    if (closed.control) return this.#became('operator', ')');
    if (closed.block) return this.#became('block', '');
    this.#operand('');
  }

  // Counting

  /** Handles the start of a value. After another value or a block, it starts a new statement. */
  #startOperand(): void {
    if (this.#before === 'operand' || this.#before === 'block') this.#endStatement();
  }

  #endStatement(): void {
    this.#fresh = false;
    this.#inNamespaceName = false;
    this.#levels.endStatement();
  }

  #nest(start: number, times = 1): void {
    this.#levels.nest(times);
    this.#check(start);
  }

  #check(start: number): void {
    // defence: source-nesting
    if (this.#levels.depth > MAX_NESTING) this.#tooDeep(start);
  }

  #tooDeep(offset: number): void {
    this.#excess ??= { kind: 'nesting', offset };
  }

  #weigh(offset: number): void {
    // defence: weight-of-errors
    if (this.#lines.add(offset)) this.#excess ??= { kind: 'line', offset };
  }

  /** Counts the possible errors in the text of a string or template. */
  #weighText(start: number, end: number): void {
    const text = this.#text.slice(start, end);
    if (SINGLE_KEYS.has(text.slice(1))) this.#weigh(start);
    for (const escape of text.includes('\\') ? text.matchAll(DOUBTFUL_ESCAPE) : []) this.#weigh(start + escape.index);
  }

  #operand(word: string): void {
    this.#became('operand', word);
  }

  #became(before: Before, word: string): void {
    this.#before = before;
    this.#word = word;
    this.#afterDot = false;
    if (this.#fresh && word !== '') this.#fresh = false;
  }
}

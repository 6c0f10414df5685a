/** The syntactic context of a position in a script. */
export type Surroundings = 'code' | 'string' | 'template literal' | 'comment' | 'regular expression';

type State =
  | 'code'
  | 'slash'
  | 'string'
  | 'template'
  | 'template-dollar'
  | 'line-comment'
  | 'block-comment'
  | 'block-comment-star'
  | 'regex'
  | 'regex-class';

/**
 * The kind of the previous token. It decides the meaning of a `/`: division after a `value`, a regular expression after
 * `punctuation`.
 */
type Token = 'punctuation' | 'value' | 'word' | 'dot';

type Bracket = 'parenthesis' | 'control' | 'brace' | 'substitution';

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BANG = 0x21;
const DOUBLE_QUOTE = 0x22;
const DOLLAR = 0x24;
const SINGLE_QUOTE = 0x27;
const OPEN_PARENTHESIS = 0x28;
const CLOSE_PARENTHESIS = 0x29;
const STAR = 0x2a;
const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const SLASH = 0x2f;
const LESS_THAN = 0x3c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const BACKTICK = 0x60;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Words after which a value begins. A `/` after such a word starts a regular expression. */
const WORDS_BEFORE_VALUES: ReadonlySet<string> = new Set(
  'return typeof case in of delete void throw new instanceof do else await yield'.split(' '),
);
/** Words whose parentheses are followed by a statement. */
const CONTROL_WORDS: ReadonlySet<string> = new Set(['if', 'while', 'for', 'with']);
const MAX_WORD = 10;
const LONG_WORD = 'x'.repeat(MAX_WORD + 1);

/**
 * Whether a character below 128 can be part of a word: letters, digits, `_`, `$`, `#`, `@` and backslash. Every
 * character beyond ASCII can.
 */
const IS_WORD: readonly boolean[] = Array.from({ length: 128 }, (_, code) =>
  /[\w$#@\\]/.test(String.fromCharCode(code)),
);

/** Whether a character below 128 may have a meaning in a literal or comment. */
const IS_SPECIAL: readonly boolean[] = Array.from({ length: 128 }, (_, code) =>
  '\n"\'\\$*/[]'.includes(String.fromCharCode(code)),
);

/**
 * Tracks which parts of a script are code, and which are a string, template, comment or regular expression. It reads
 * the script in pieces: `scan` stops before every `<` and backtick in any context; the caller checks whether a tag or
 * fence begins there, and calls `consume` or `skip`.
 *
 * A line break ends a quoted string and a regular expression, so that a stray quote affects only one line.
 */
export class ScriptLexer {
  #state: State = 'code';
  #quote = 0;
  #escape: 'none' | 'next' | 'line-feed' = 'none';
  #token: Token = 'punctuation';
  // The last word: its part from earlier pieces, and the location of the rest. The word is joined only when it is read,
  // because most words are never read.
  #wordBefore = '';
  #wordText = '';
  #wordStart = 0;
  #wordEnd = 0;
  #isWordOpen = false;
  #previous = 0;
  #tokenBeforeSign: Token = 'punctuation';
  readonly #brackets: Bracket[] = [];
  readonly #templateStarts: number[] = [];
  #literalStart = 0;
  #isHalted = false;

  get surroundings(): Surroundings {
    switch (this.#state) {
      case 'code':
      case 'slash':
        return 'code';
      case 'string':
        return 'string';
      case 'template':
      case 'template-dollar':
        return 'template literal';
      case 'line-comment':
      case 'block-comment':
      case 'block-comment-star':
        return 'comment';
      case 'regex':
      case 'regex-class':
        return 'regular expression';
    }
  }

  get isInCode(): boolean {
    return this.#state === 'code';
  }

  /** The start position of the literal or comment that contains the current position. */
  get surroundingsStart(): number {
    return this.#literalStart;
  }

  /** The index of the next `<` or backtick, or the text's end. `origin` is the position of the text's start. */
  scan(text: string, index: number, origin: number): number {
    let next = index;
    this.#isHalted = false;
    while (next < text.length && !this.#isHalted) next = this.#step(text, next, origin);
    return next;
  }

  /** Consumes, as part of the script, the `<` or backtick at which `scan` stopped. Returns the next index. */
  consume(text: string, index: number, origin: number): number {
    if (this.#state === 'code') {
      this.#isWordOpen = false;
      this.#previous = text.charCodeAt(index);
      if (this.#previous === BACKTICK) this.#enter('template', origin + index);
      else this.#token = 'punctuation';
    } else if (this.#state === 'template' && text.charCodeAt(index) === BACKTICK) {
      this.#leaveLiteral();
    }
    return index + 1;
  }

  /** Continues after a tag or fence in code, where a statement may begin. */
  skip(): void {
    this.#token = 'punctuation';
    this.#isWordOpen = false;
    this.#previous = 0;
  }

  #step(text: string, index: number, origin: number): number {
    if (this.#escape !== 'none') return this.#scanEscape(text, index);
    switch (this.#state) {
      case 'code':
        return this.#scanCode(text, index, origin);
      case 'slash':
        return this.#scanSlash(text, index);
      case 'template-dollar':
        return this.#scanTemplateDollar(text, index);
      case 'block-comment-star':
        return this.#scanBlockCommentStar(text, index);
      default:
        return this.#scanLiteral(text, index);
    }
  }

  #scanCode(text: string, index: number, origin: number): number {
    let next = index;
    while (next < text.length) {
      const character = text.charCodeAt(next);
      if (character >= 128 || IS_WORD[character] === true) {
        next = this.#scanWord(text, next);
        continue;
      }
      this.#isWordOpen = false;
      if (character === LESS_THAN || character === BACKTICK) return this.#halt(next);
      if (character > 0x20) this.#takePunctuator(character, origin + next);
      this.#previous = character;
      next += 1;
      if (this.#state !== 'code') break;
    }
    return next;
  }

  #scanWord(text: string, index: number): number {
    let end = index + 1;
    while (end < text.length) {
      const character = text.charCodeAt(end);
      if (character < 128 && IS_WORD[character] !== true) break;
      end += 1;
    }
    this.#wordBefore = this.#isWordOpen ? this.#word() : '';
    this.#wordText = text;
    this.#wordStart = index;
    this.#wordEnd = end;
    if (!this.#isWordOpen) this.#token = this.#token === 'dot' ? 'value' : 'word';
    this.#isWordOpen = end === text.length;
    this.#previous = 0;
    return end;
  }

  #word(): string {
    const wordBefore = this.#wordBefore;
    const wordStart = this.#wordStart;
    const wordEnd = this.#wordEnd;
    if (wordBefore.length + wordEnd - wordStart > MAX_WORD) return LONG_WORD;
    return wordBefore + this.#wordText.slice(wordStart, wordEnd);
  }

  #takePunctuator(character: number, position: number): void {
    switch (character) {
      case SLASH:
        // `</name>` is markup, and no regular expression begins directly after `<`.
        if (this.#previous === LESS_THAN) this.#token = 'value';
        this.#state = 'slash';
        this.#literalStart = position;
        return;
      case SINGLE_QUOTE:
      case DOUBLE_QUOTE:
        this.#quote = character;
        this.#enter('string', position);
        return;
      case OPEN_PARENTHESIS:
        this.#brackets.push(this.#token === 'word' && CONTROL_WORDS.has(this.#word()) ? 'control' : 'parenthesis');
        this.#token = 'punctuation';
        return;
      case CLOSE_PARENTHESIS:
        this.#closeParenthesis();
        return;
      case OPEN_BRACE:
        this.#brackets.push('brace');
        this.#token = 'punctuation';
        return;
      case CLOSE_BRACE:
        this.#closeBrace();
        return;
      case CLOSE_BRACKET:
        this.#token = 'value';
        return;
      case DOT:
        this.#token = 'dot';
        return;
      case PLUS:
      case MINUS:
        this.#takeSign(character);
        return;
      case BANG:
        // After a value, `!` is TypeScript's non-null operator or the beginning of `!=`, so the token stays a value.
        if (this.#mayBeginValue()) this.#token = 'punctuation';
        return;
      default:
        this.#token = 'punctuation';
    }
  }

  /** Handles a sign. After `++` or `--`, the kind of the token before these signs counts again. */
  #takeSign(character: number): void {
    if (this.#previous === character) {
      this.#token = this.#tokenBeforeSign;
    } else {
      this.#tokenBeforeSign = this.#token;
      this.#token = 'punctuation';
    }
  }

  #closeParenthesis(): void {
    const open = this.#brackets.at(-1);
    const isParenthesis = open === 'parenthesis' || open === 'control';
    if (isParenthesis) this.#brackets.pop();
    this.#token = open === 'control' ? 'punctuation' : 'value';
  }

  #closeBrace(): void {
    let open = this.#brackets.pop();
    while (open === 'parenthesis' || open === 'control') open = this.#brackets.pop();
    this.#token = 'punctuation';
    if (open === 'substitution') {
      this.#state = 'template';
      this.#literalStart = this.#templateStarts.pop() ?? 0;
    }
  }

  #scanSlash(text: string, index: number): number {
    const character = text.charCodeAt(index);
    if (character === SLASH) this.#state = 'line-comment';
    else if (character === STAR) this.#state = 'block-comment';
    else if (this.#mayBeginValue()) this.#state = 'regex';
    else {
      this.#state = 'code';
      this.#token = 'punctuation';
      return index;
    }
    return this.#state === 'regex' ? index : index + 1;
  }

  #scanLiteral(text: string, index: number): number {
    for (let next = index; next < text.length; next++) {
      const character = text.charCodeAt(next);
      if (character === LESS_THAN || character === BACKTICK) return this.#halt(next);
      if (character < 128 && IS_SPECIAL[character] === true && this.#takeSpecial(character)) return next + 1;
    }
    return text.length;
  }

  /** Handles a character of a literal or comment that may have a meaning there. Returns whether the state changed. */
  #takeSpecial(character: number): boolean {
    const state = this.#state;
    const isRegex = state === 'regex' || state === 'regex-class';
    const isComment = state === 'line-comment' || state === 'block-comment';
    if (character === BACKSLASH && !isComment) this.#escape = 'next';
    else if (character === NEWLINE && state === 'line-comment') this.#state = 'code';
    else if (character === STAR && state === 'block-comment') this.#state = 'block-comment-star';
    else if (character === DOLLAR && state === 'template') this.#state = 'template-dollar';
    else if (state === 'string' && (character === this.#quote || character === NEWLINE)) this.#leaveLiteral();
    else if (isRegex && character === OPEN_BRACKET) this.#state = 'regex-class';
    else if (isRegex && character === CLOSE_BRACKET) this.#state = 'regex';
    else if (isRegex && (character === NEWLINE || (character === SLASH && state === 'regex'))) this.#leaveLiteral();
    else return false;
    return true;
  }

  #scanTemplateDollar(text: string, index: number): number {
    if (text.charCodeAt(index) !== OPEN_BRACE) {
      this.#state = 'template';
      return index;
    }
    this.#brackets.push('substitution');
    this.#templateStarts.push(this.#literalStart);
    this.#state = 'code';
    this.skip();
    return index + 1;
  }

  #scanBlockCommentStar(text: string, index: number): number {
    const character = text.charCodeAt(index);
    if (character === STAR) return index + 1;
    this.#state = character === SLASH ? 'code' : 'block-comment';
    return this.#state === 'code' ? index + 1 : index;
  }

  /**
   * Skips the character after a backslash; a CR LF pair counts as one. A line break still ends a regular expression.
   */
  #scanEscape(text: string, index: number): number {
    const character = text.charCodeAt(index);
    if (this.#escape === 'line-feed') {
      this.#escape = 'none';
      return character === NEWLINE ? index + 1 : index;
    }
    const isRegex = this.#state === 'regex' || this.#state === 'regex-class';
    this.#escape = character === CARRIAGE_RETURN && !isRegex ? 'line-feed' : 'none';
    if (character === NEWLINE && isRegex) this.#leaveLiteral();
    return index + 1;
  }

  #enter(state: 'string' | 'template', position: number): void {
    this.#state = state;
    this.#literalStart = position;
  }

  #leaveLiteral(): void {
    this.#state = 'code';
    this.#token = 'value';
    this.#previous = 0;
  }

  #mayBeginValue(): boolean {
    return this.#token === 'punctuation' || (this.#token === 'word' && WORDS_BEFORE_VALUES.has(this.#word()));
  }

  #halt(index: number): number {
    this.#isHalted = true;
    return index;
  }
}

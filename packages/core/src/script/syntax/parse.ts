import { parseSync, type OxcError } from 'oxc-parser';
import { printable } from '../../text/code-frame.js';
import { findExcess, type Excess } from './nesting.js';
import type { Program } from './syntax.js';

/** The reason why a text is not a script. `offset` refers to the text that was parsed. */
export interface ParseProblem {
  readonly code: 'ScriptSyntaxError' | 'ScriptPolicyError';
  readonly message: string;
  readonly offset: number;
  readonly hint?: string | undefined;
  /** The banned construct, for a ScriptPolicyError. */
  readonly construct?: string | undefined;
}

export type ParsedText =
  | { readonly ok: true; readonly program: Program }
  | { readonly ok: false; readonly problems: readonly [ParseProblem, ...ParseProblem[]] };

const MAX_PROBLEMS = 10;
const MAX_MESSAGE = 300;
const TOP_LEVEL_RETURN = "A 'return' statement can only be used within a function body";

/** Parses a script: a strict module that may also return and await at its top level. */
export function parseText(text: string): ParsedText {
  const excess = findExcess(text);
  if (excess !== undefined) return refusedText(excessProblem(excess));
  const result = parseSync('script.ts', text, {
    lang: 'ts',
    sourceType: 'module',
    preserveParens: false,
    showSemanticErrors: true,
  });
  const errors = result.errors.filter(({ message }) => !isTopLevelReturn(message));
  const problems = errors.slice(0, MAX_PROBLEMS).map((error) => syntaxProblem(error, text));
  const [first, ...others] = problems;
  return first === undefined ? { ok: true, program: result.program } : refusedText(first, ...others);
}

/**
 * Whether this is the only diagnostic of the parser and the transformer that does not apply to a script: a `return` at
 * the top level.
 */
export function isTopLevelReturn(message: string): boolean {
  return message.startsWith(TOP_LEVEL_RETURN);
}

function refusedText(...problems: [ParseProblem, ...ParseProblem[]]): ParsedText {
  return { ok: false, problems };
}

function excessProblem({ kind, offset }: Excess): ParseProblem {
  if (kind === 'line') {
    return {
      code: 'ScriptSyntaxError',
      message: 'This line contains too much code.',
      offset,
      hint: 'Write one statement per line, and let tools read large data instead of writing the data into the script.',
    };
  }
  if (kind === 'properties') {
    return {
      code: 'ScriptSyntaxError',
      message: 'The script has too many character properties (`\\p{…}`) in its regular expressions.',
      offset,
      hint: 'Put the pattern into a variable, and use the variable several times.',
    };
  }
  return {
    code: 'ScriptSyntaxError',
    message: 'The script is nested too deeply here.',
    offset,
    hint: 'Put parts of the script into separate variables or functions; build large data in a loop.',
  };
}

function syntaxProblem(error: OxcError, text: string): ParseProblem {
  const offset = syntaxErrorOffset(error, text);
  if (error.message === "'with' statements are not allowed") {
    return {
      code: 'ScriptPolicyError',
      message: '`with` is not allowed in scripts.',
      offset,
      hint: 'Name the object, or destructure its members.',
      construct: 'with',
    };
  }
  const { message, hint } = explain(error, text, offset);
  return { code: 'ScriptSyntaxError', message, offset, hint };
}

function syntaxErrorOffset(error: OxcError, text: string): number {
  const label = error.labels.find(({ message }) => (message ?? '').endsWith('redeclared here')) ?? error.labels[0];
  const offset = label?.start ?? 0;
  if (!isMarkup(error, text, offset)) return offset;
  const closed = /^\/\s*(\w*)/.exec(text.slice(offset, offset + 100))?.[1] ?? '';
  return Math.max(text.lastIndexOf(`<${closed}`, offset - 2), 0);
}

/** Whether the parser took the `/` of `</div>` for the start of a regular expression. */
function isMarkup(error: OxcError, text: string, offset: number): boolean {
  return error.message === 'Unterminated regular expression' && text.charAt(offset - 1) === '<';
}

function explain(error: OxcError, text: string, offset: number): { message: string; hint?: string | undefined } {
  const message = sentence(error.message);
  const rest = text.slice(offset, offset + 1000);
  if (message.startsWith('Expected a semicolon or an implicit semicolon')) {
    return {
      message: 'Two expressions follow each other here without an operator, a comma or a new line between them.',
      hint: 'A script is TypeScript or JavaScript; check this line for a missing operator, comma or bracket.',
    };
  }
  if (message.includes('but found `EOF`') || (message.startsWith('Unexpected token') && rest.trim() === '')) {
    const expected = /^Expected (.*) but found `EOF`/.exec(message)?.[1];
    return {
      message: `The script ends too early${expected === undefined ? '' : `: ${expected} is missing`}.`,
      hint: 'Close every bracket, string and template, and send the whole script.',
    };
  }
  if (/^Invalid Character/i.test(message) && /^[\u2018\u2019\u201c\u201d]/.test(rest)) {
    return { message, hint: 'Use straight quotes: \' or ".' };
  }
  if (isMarkup(error, text, error.labels[0]?.start ?? 0)) {
    return { message: 'JSX is not available in scripts.', hint: 'Build the text with a template literal.' };
  }
  if (message.startsWith('Unterminated string')) {
    return { message, hint: 'Write a string of several lines between backticks, or with \\n.' };
  }
  return error.helpMessage === null ? { message } : { message, hint: sentence(error.helpMessage) };
}

function sentence(text: string): string {
  const short = printable(text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text);
  const capital = /^[a-z]+ /.test(short) ? short.charAt(0).toUpperCase() + short.slice(1) : short;
  return /[.!?]$/.test(capital) ? capital : `${capital}.`;
}

/** Each of these words before an operand adds one level of nesting. */
export const PREFIX_WORDS = new Set(['typeof', 'void', 'delete', 'await', 'new', 'yield']);

/** Words that add one level before an operand in types, and are names elsewhere. */
export const TYPE_WORDS = new Set(['keyof', 'unique', 'readonly', 'infer', 'asserts', 'extends', 'abstract']);

/** Operators between two operands of one expression or type, and names elsewhere. */
export const JOINING_WORDS = new Set(['as', 'is', 'satisfies', 'implements', 'async', 'of']);

export const OPERATOR_WORDS = new Set(['in', 'instanceof']);

/** A `(` after one of these opens a head that a statement follows. */
export const CONTROL_WORDS = new Set(['if', 'for', 'while', 'with', 'switch', 'catch']);

/** Statements and classes that nest the code after them without a bracket. */
export const NESTING_STATEMENTS = new Set(['if', 'for', 'while', 'with', 'do', 'class']);

/** Each of these ends the preceding construct. */
export const FRESH_STATEMENTS = new Set(
  'const var return throw switch try import export debugger break continue case default function'.split(' '),
);

/** These continue the statement before them. */
export const CONTINUING_WORDS = new Set(['else', 'catch', 'finally']);

/** Each of these is an error where a name is required. */
export const RESERVED_WORDS = new Set([
  ...PREFIX_WORDS,
  ...OPERATOR_WORDS,
  ...NESTING_STATEMENTS,
  ...FRESH_STATEMENTS,
  ...CONTINUING_WORDS,
  ...'let static enum implements interface package private protected public super this'.split(' '),
]);

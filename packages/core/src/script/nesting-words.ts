/** Words by what they mean for nesting. Each of these before an operand is one more level. */
export const PREFIX_WORDS = new Set(['typeof', 'void', 'delete', 'await', 'new', 'yield']);

/** The same in types, and names elsewhere. */
export const TYPE_WORDS = new Set(['keyof', 'unique', 'readonly', 'infer', 'asserts', 'extends', 'abstract']);

/** Between two operands of one expression or type, and names elsewhere. */
export const JOINING_WORDS = new Set(['as', 'is', 'satisfies', 'implements', 'async', 'of']);

export const OPERATOR_WORDS = new Set(['in', 'instanceof']);

/** A `(` after one of these opens a head that a statement follows. */
export const CONTROL_WORDS = new Set(['if', 'for', 'while', 'with', 'switch', 'catch']);

/** Statements and classes that hold what follows them without a bracket. */
export const NESTING_STATEMENTS = new Set(['if', 'for', 'while', 'with', 'do', 'class']);

/** What stands before one of these has ended. */
export const FRESH_STATEMENTS = new Set(
  'const var return throw switch try import export debugger break continue case default function'.split(' '),
);

/** These go on with the statement before them. */
export const CONTINUING_WORDS = new Set(['else', 'catch', 'finally']);

/** Each of these is an error where a name must stand. */
export const RESERVED_WORDS = new Set([
  ...PREFIX_WORDS,
  ...OPERATOR_WORDS,
  ...NESTING_STATEMENTS,
  ...FRESH_STATEMENTS,
  ...CONTINUING_WORDS,
  ...'let static enum implements interface package private protected public super this'.split(' '),
]);

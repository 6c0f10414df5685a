/**
 * A line of an interface. Signatures (call, construct, index) have no name. The name of a symbol is text such as
 * `[Symbol.iterator]`.
 */
export interface Member {
  readonly name: string | undefined;
  /** One line, without comments and without the closing semicolon. */
  readonly text: string;
  /** The name of the member's type, if the type is a plain reference: `Array` for `Array<any>`. */
  readonly typeName: string | undefined;
}

/** All declarations of one interface name, merged. */
export interface MergedInterface {
  readonly name: string;
  /** The type parameters with the brackets: `<T, TReturn = any>`; empty if the interface has none. */
  parameters: string;
  /** The base types, as written: `Iterator<T, TReturn, TNext>`. */
  bases: string[];
  members: Member[];
}

/** A declared variable or function. Each overload of a function is a separate value. */
export interface Value {
  readonly name: string;
  /** The declaration without the word `declare`. */
  readonly text: string;
  readonly typeName: string | undefined;
}

/**
 * Declarations of the global scope, or of one namespace. The maps and the list keep the order of the first occurrences.
 */
export interface Library {
  readonly interfaces: Map<string, MergedInterface>;
  /** The text of each type alias, by name. */
  readonly aliases: Map<string, string>;
  readonly values: Value[];
  readonly namespaces: Map<string, Library>;
}

export function emptyLibrary(): Library {
  return { interfaces: new Map(), aliases: new Map(), values: [], namespaces: new Map() };
}

/**
 * Copies a value that contains slices of a text. A JavaScript engine keeps the whole text in memory as long as a slice
 * of it exists, and a growing text is a new text after each change.
 */
export function deepCopy<Value>(value: Value): Value {
  return structuredClone(value);
}

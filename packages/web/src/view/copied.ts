/**
 * A copy of a value that has parts of a text. Engines keep a whole text as long as a part that was cut out of it; a text
 * that grows is another text each time.
 */
export function copied<Value>(value: Value): Value {
  return structuredClone(value);
}

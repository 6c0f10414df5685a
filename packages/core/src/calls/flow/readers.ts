/** Those who may read a text. Undefined: everybody. */
export type Readers = readonly string[] | undefined;

/** The readers of a text that was made from all of these. */
export function commonReaders(all: readonly Readers[]): Readers {
  const [first, ...others] = all.filter((readers) => readers !== undefined);
  return first?.filter((reader) => others.every((readers) => readers.includes(reader)));
}

/** Whether the text may go to these receivers. A text with readers goes to nobody who is not named. */
export function mayReach(readers: Readers, receivers: readonly string[]): boolean {
  return readers === undefined || (receivers.length > 0 && receivers.every((receiver) => readers.includes(receiver)));
}

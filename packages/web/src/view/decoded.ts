/** The text that a part of an address stands for; undefined if it stands for none. */
export function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

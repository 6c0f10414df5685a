/** Decodes a part of an address; undefined if it is malformed. */
export function decodedPart(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

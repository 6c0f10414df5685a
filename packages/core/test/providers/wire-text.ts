/** Server-sent events as text, in all valid forms. */

export interface WireMessage {
  readonly name: string;
  readonly data: string;
}

/**
 * The messages of a well-formed body. The reader is separate, because a comparison of the product with itself would
 * prove nothing.
 */
export function messagesOf(body: string): WireMessage[] {
  return body
    .replaceAll('\r\n', '\n')
    .split('\n\n')
    .flatMap((block) => {
      const lines = block.split('\n');
      const name = lines.find((line) => line.startsWith('event:'))?.slice('event:'.length) ?? '';
      const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice('data:'.length).trim());
      return data.length === 0 ? [] : [{ name: name.trim(), data: data.join('\n') }];
    });
}

export function bodyOf(messages: readonly WireMessage[], lineEnd = '\n'): string {
  return messages
    .map(({ name, data }) => {
      const lines = data.split('\n').map((line) => `data: ${line}`);
      return [...(name === '' ? [] : [`event: ${name}`]), ...lines, '', ''].join(lineEnd);
    })
    .join('');
}

/** A stream as the provider would send it: one event for each value, named by the value's `type` if it has one. */
export function streamOf(...values: unknown[]): string {
  return bodyOf(
    values.map((value) =>
      typeof value === 'string'
        ? { name: '', data: value }
        : { name: (value as { type?: string }).type ?? '', data: JSON.stringify(value) },
    ),
  );
}

export async function* piecesOf<Piece>(pieces: Iterable<Piece>): AsyncGenerator<Piece> {
  for (const piece of pieces) yield await Promise.resolve(piece);
}

/** The bytes, split at these places; the places may be unordered and may repeat. */
export function cutAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const cuts = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
}

export function inPieces(text: string, length: number): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length; start += length) pieces.push(text.slice(start, start + length));
  return pieces;
}

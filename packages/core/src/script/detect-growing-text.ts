/** A short tail is cheap to flatten and keeps few small strings alive. */
const LONGEST_TAIL = 4096;

/**
 * Text that grows by many small pieces. The engine keeps appended pieces as a tree until the text is read;
 * flattening the tail now and then keeps that tree, and the garbage collector's work on it, small.
 */
export class GrowingText {
  private whole = '';
  private tail = '';

  get isEmpty(): boolean {
    return this.whole === '' && this.tail === '';
  }

  append(piece: string): void {
    this.tail += piece;
    if (this.tail.length >= LONGEST_TAIL) this.flattenTail();
  }

  clear(): void {
    this.whole = '';
    this.tail = '';
  }

  toString(): string {
    if (this.tail !== '') this.flattenTail();
    return this.whole;
  }

  private flattenTail(): void {
    // Reading one character makes the engine flatten the text.
    this.tail.charCodeAt(0);
    this.whole += this.tail;
    this.tail = '';
  }
}

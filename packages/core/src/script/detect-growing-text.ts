/** A short tail is cheap to flatten and keeps few small strings alive. */
const MAX_TAIL = 4096;

/**
 * Text that grows by many small pieces. The engine keeps appended pieces as a tree until the text is read; regular
 * flattening of the tail keeps that tree small, and with it the garbage collector's work.
 */
export class GrowingText {
  private whole = '';
  private tail = '';

  get isEmpty(): boolean {
    return this.whole === '' && this.tail === '';
  }

  append(piece: string): void {
    this.tail += piece;
    if (this.tail.length >= MAX_TAIL) this.flattenTail();
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

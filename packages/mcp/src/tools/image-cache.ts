import { ToolCallError, type ImagePart } from '@toolscript/core';

/** Keeps the bytes of the newest images, up to a maximum size. */
export class ImageCache {
  readonly #maxBytes: number;
  readonly #images = new Map<string, Uint8Array>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(sha256: string, bytes: Uint8Array): void {
    if (bytes.length > this.#maxBytes || this.#images.has(sha256)) return;
    this.#images.set(sha256, bytes);
    this.#bytes += bytes.length;
    for (const [oldest, { length }] of this.#images) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#images.delete(oldest);
      this.#bytes -= length;
    }
  }

  /** The bytes of an image. Rejects with a `ToolCallError` if the bytes are no longer stored. */
  async load({ sha256 }: Pick<ImagePart, 'sha256'>): Promise<{ bytes: Uint8Array }> {
    const bytes = this.#images.get(sha256);
    if (bytes === undefined)
      throw new ToolCallError('ToolExecutionError', 'its bytes are no longer stored; call the tool again');
    return { bytes };
  }
}

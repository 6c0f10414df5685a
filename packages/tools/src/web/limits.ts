/** The limits of one request for a page, with its redirects. */
export interface WebLimits {
  /** Maximum time from the first lookup to the last byte, in ms. */
  readonly timeoutMs: number;
  readonly maxRedirects: number;
  readonly maxHeaderBytes: number;
  /** Maximum number of bytes of the transferred body, which may be compressed. */
  readonly maxTransferBytes: number;
  /** Maximum number of bytes of the body after decompression. */
  readonly maxBytes: number;
  /** Maximum time for the conversion of one page to Markdown, in a worker thread, in ms. */
  readonly readTimeoutMs: number;
  readonly readMemoryMb: number;
}

export const WEB_LIMITS: WebLimits = {
  timeoutMs: 20_000,
  maxRedirects: 5,
  maxHeaderBytes: 16_384,
  maxTransferBytes: 5_000_000,
  maxBytes: 10_000_000,
  readTimeoutMs: 10_000,
  readMemoryMb: 256,
};

/** The limits of one request for a page, with its redirects. */
export interface WebLimits {
  /** From the first lookup to the last byte. */
  readonly timeoutMs: number;
  readonly maxRedirects: number;
  readonly maxHeaderBytes: number;
  /** Bytes of the body as they are sent, which may be compressed. */
  readonly maxTransferBytes: number;
  /** Bytes of the body after decompression. */
  readonly maxBytes: number;
  /** For the conversion of one page to Markdown, in a separate thread. */
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

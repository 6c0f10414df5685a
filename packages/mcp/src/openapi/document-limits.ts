/** Maximum bytes of a document. The largest public ones have about 15 MB. */
export const MAX_DOCUMENT_BYTES = 32 * 1024 * 1024;

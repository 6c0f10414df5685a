// Globals of the engine that TypeScript's own declarations of the language lack.

declare function atob(base64: string): string;
declare function btoa(binary: string): string;

interface DOMException extends Error {
  readonly code: number;
}
// oxlint-disable-next-line no-var -- a const is not a member of globalThis
declare var DOMException: new (message?: string, name?: string) => DOMException;

/** The engine's error class for a full heap. */
// oxlint-disable-next-line no-var -- a const is not a member of globalThis
declare var InternalError: ErrorConstructor;

interface ErrorConstructor {
  captureStackTrace(target: object, below?: unknown): void;
  prepareStackTrace?: ((error: Error, sites: object[]) => unknown) | undefined;
  stackTraceLimit: number;
}

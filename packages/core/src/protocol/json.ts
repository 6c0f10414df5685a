/** A value that JSON text can carry without loss. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined };

/** A JSON object with string keys. */
export type JsonObject = { readonly [key: string]: JsonValue | undefined };

/** Deepest nesting that may cross between a script and its host, in either direction. */
export const MAX_JSON_DEPTH = 100;

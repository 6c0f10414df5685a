/** Replaces secrets, so that an error can be shown and logged even if the provider repeats the key in it. */
export type Redact = <Value>(value: Value) => Value;

const MIN_LENGTH = 4;

export function redactor(secrets: readonly (string | undefined)[]): Redact {
  const known = secrets.filter((secret): secret is string => secret !== undefined && secret.length >= MIN_LENGTH);
  if (known.length === 0) return (value) => value;
  const clean = (text: string): string => known.reduce((shown, secret) => shown.replaceAll(secret, '[redacted]'), text);
  return <Value>(value: Value): Value => walk(value, clean, 0) as Value;
}

const MAX_DEPTH = 50;

function walk(value: unknown, clean: (text: string) => string, depth: number): unknown {
  if (typeof value === 'string') return clean(value);
  if (depth > MAX_DEPTH || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((member) => walk(member, clean, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [clean(name), walk(member, clean, depth + 1)]),
  );
}

/**
 * Names of headers whose values are secrets. The word "key" alone is not enough: `idempotency-key: 7` is not a secret.
 */
const SECRET_NAME = /auth|token|secret|cookie|api[-_]?key/iu;
const MIN_KEY_LENGTH = 16;

/**
 * The values of a caller's headers that may be secrets. A header counts if its name matches `SECRET_NAME`, or if its
 * name contains "key" and its value looks like a key.
 */
export function secretHeaders(headers: Readonly<Record<string, string>> = {}): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    SECRET_NAME.test(name) || (/key/iu.test(name) && looksLikeKey(value)) ? [value, value.replace(/^\w+\s+/u, '')] : [],
  );
}

function looksLikeKey(value: string): boolean {
  return value.length >= MIN_KEY_LENGTH && !/\s/u.test(value);
}

/** Replaces a secret in a log line. */
const REDACTED = '[redacted]';

/** Members whose names indicate a secret. Their values are removed. */
const SECRET_MEMBER =
  /"([\w.-]{0,64}(?:authorization|cookie|api[-_]?key|password|passwd|secret|token)[\w.-]{0,64})":"(?:[^"\\]|\\.)*"/giu;

/**
 * Forms of texts that are always secrets: credentials in a header or a URL, API keys, GitHub tokens and JSON Web
 * Tokens.
 */
const SECRET_FORMS: readonly (readonly [RegExp, string])[] = [
  [/\b(Bearer|Basic)\s+[^\s"\\,]+/giu, `$1 ${REDACTED}`],
  [/([?#&](?:access_)?(?:token|key|api_key|apikey)=)[^\s"\\&#]+/giu, `$1${REDACTED}`],
  [/(\/\/[^\s"\\/:@]*:)[^\s"\\/@]+@/gu, `$1${REDACTED}@`],
  [/\b(?:sk|pk|rk)-[\w-]{16,}/gu, REDACTED],
  [/\btsk_[\da-f]+_[\w-]{16,}/gu, REDACTED],
  [/\bgh[pousr]_\w{20,}/gu, REDACTED],
  [/\beyJ[\w-]{8,2000}\.[\w-]{8,2000}\.[\w-]+/gu, REDACTED],
];

/** Minimum length of a secret. Shorter texts also occur in ordinary words, so they are not removed. */
const MIN_LENGTH = 6;

/**
 * Removes secrets from a log line, which is JSON: known secrets, members whose name indicates a secret, and texts in
 * the form of credentials. The redactor precedes the sink, so it applies to all code that logs.
 */
export function lineRedactor(secrets: readonly (string | undefined)[]): (line: string) => string {
  const known = secrets
    .filter((secret) => secret !== undefined && secret.length >= MIN_LENGTH)
    .map((secret) => JSON.stringify(secret).slice(1, -1))
    // Longer secrets come first, because a secret may be a part of another one.
    .toSorted((left, right) => right.length - left.length);
  return (line) => {
    let clean = line;
    // defence: log-hides-known-secrets
    for (const secret of known) clean = clean.replaceAll(secret, REDACTED);
    // defence: log-hides-secret-members
    clean = clean.replaceAll(SECRET_MEMBER, `"$1":"${REDACTED}"`);
    // defence: log-hides-credentials
    for (const [form, shown] of SECRET_FORMS) clean = clean.replaceAll(form, shown);
    return clean;
  };
}

/** Replaces a secret in a log line. */
const REDACTED = '[redacted]';

/** Minimum length of a secret. Shorter texts also occur in ordinary words, so they are not removed. */
const MIN_LENGTH = 6;

/** Values that are nested more deeply are removed. */
const MAX_DEPTH = 100;

/** Names of members, headers and options whose values are secrets. */
const SECRET_NAME = /authorization|cookie|api[-_]?key|access[-_]?key|private[-_]?key|password|passwd|secret|token/iu;
const NAME = /^[\w.-]{1,200}$/u;

/** Members that name the member beside them, such as `{ "name": "Cookie", "value": "…" }`. */
const NAMING = ['name', 'key', 'header'];

/** A key in PEM, also one whose end is missing. */
const PEM_KEY = /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,60}-----|$)/gu;

/** Forms of texts that are always secrets. Each is linear in the length of a text. */
const SECRET_FORMS: readonly (readonly [RegExp, string])[] = [
  [PEM_KEY, REDACTED],
  [/\b(Bearer|Basic)\s{1,8}[^\s"\\,]+/giu, `$1 ${REDACTED}`],
  [/([?#&](?:access_|x-amz-security-)?(?:token|key|api_key|apikey|x-amz-signature)=)[^\s"\\&#]+/giu, `$1${REDACTED}`],
  [/(\/\/[^\s"\\/:@]*:)[^\s"\\/]+@/gu, `$1${REDACTED}@`],
  [/\b(aws_secret_access_key\s{0,8}[=:]\s{0,8})[^\s,;]+/giu, `$1${REDACTED}`],
  [/\b(?:AKIA|ASIA)[\dA-Z]{16}\b/gu, REDACTED],
  [/\b(?:sk|pk|rk)-[\w-]{16,}/gu, REDACTED],
  [/\btsk_[\da-f]{1,64}_[\w-]{16,}/gu, REDACTED],
  [/\b(?:gh[pousr]_|github_pat_)\w{20,}/gu, REDACTED],
  [/\bxox[a-z]-[\w-]{10,}|\bxapp-[\w-]{10,}/gu, REDACTED],
  [/\bAIza[\w-]{35}|\bya29\.[\w.-]{20,}/gu, REDACTED],
];

/** A text of the characters of a JSON Web Token. */
const TOKEN_RUN = /[\w.-]{20,}/gu;

/**
 * Removes secrets from a log line, which is JSON: known secrets, members whose name indicates a secret, and texts in
 * the form of credentials. JSON inside a text is read too. The redactor precedes the sink, so it applies to all code
 * that logs.
 */
export function lineRedactor(secrets: readonly (string | undefined)[]): (line: string) => string {
  const redactor = new Redactor(secrets);
  return (line) => {
    const value = parsedJson(line);
    if (value === undefined) return redactor.text(line);
    return JSON.stringify(redactor.value(value)) + (line.endsWith('\n') ? '\n' : '');
  };
}

class Redactor {
  readonly #known: readonly string[];

  constructor(secrets: readonly (string | undefined)[]) {
    this.#known = secrets
      .flatMap((secret = '') => (secret.length < MIN_LENGTH ? [] : [secret, JSON.stringify(secret).slice(1, -1)]))
      // Longer secrets come first, because a secret may be a part of another one.
      .toSorted((left, right) => right.length - left.length);
  }

  value(value: unknown, depth = 0): unknown {
    if (typeof value === 'string') return this.#textOrJson(value, depth);
    if (typeof value !== 'object' || value === null) return value;
    if (depth > MAX_DEPTH) return REDACTED;
    return Array.isArray(value) ? this.#list(value, depth) : this.#members(value as Record<string, unknown>, depth);
  }

  text(text: string): string {
    let clean = text;
    // defence: log-hides-known-secrets
    for (const secret of this.#known) clean = clean.replaceAll(secret, REDACTED);
    // defence: log-hides-credentials
    for (const [form, shown] of SECRET_FORMS) clean = clean.replaceAll(form, shown);
    // defence: log-hides-web-tokens
    clean = clean.replaceAll(TOKEN_RUN, (run) => (hasWebToken(run) ? REDACTED : run));
    return clean;
  }

  /** A text that is JSON, such as the input of a call, stays as it is if it contains no secret. */
  #textOrJson(text: string, depth: number): string {
    const inner = /^\s{0,8}[[{]/u.test(text) ? parsedJson(text) : undefined;
    if (inner === undefined) return this.text(text);
    const clean = JSON.stringify(this.value(inner, depth + 1));
    return clean === JSON.stringify(inner) ? this.text(text) : clean;
  }

  #members(members: Record<string, unknown>, depth: number): unknown {
    const isNamed = NAMING.some((name) => isSecretName(members[name]));
    return Object.fromEntries(
      Object.entries(members).map(([name, value]) => {
        // defence: log-hides-secret-members
        if (SECRET_NAME.test(name) || (isNamed && name === 'value')) return [name, hidden(value)];
        return [this.text(name), this.value(value, depth + 1)];
      }),
    );
  }

  /** In a list such as `["Cookie", "a=1"]`, a name precedes its value. */
  #list(list: readonly unknown[], depth: number): unknown[] {
    return list.map((value, index) => {
      // defence: log-hides-secrets-in-lists
      if (index > 0 && isSecretName(list[index - 1])) return hidden(value);
      return this.value(value, depth + 1);
    });
  }
}

function isSecretName(value: unknown): boolean {
  return typeof value === 'string' && NAME.test(value) && SECRET_NAME.test(value);
}

/** Hides all texts of a value. Numbers, such as counts of tokens, are no secrets. */
function hidden(value: unknown): unknown {
  if (typeof value === 'string') return REDACTED;
  if (typeof value !== 'object' || value === null) return value;
  const isOfNumbers = Object.values(value).every((member) => typeof member === 'number');
  return isOfNumbers ? value : REDACTED;
}

function hasWebToken(run: string): boolean {
  const parts = run.split('.');
  return parts.some((part, index) => {
    const [payload = '', signature = ''] = [parts[index + 1], parts[index + 2]];
    return part.length >= 11 && payload.length >= 8 && signature.length > 0 && /(?:^|-)eyJ/u.test(part);
  });
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

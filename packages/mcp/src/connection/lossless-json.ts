const BACKSLASH = 0x5c;
/** An integer of at least 16 digits: shorter ones are exact. */
const LONG_INTEGER = /(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/gu;

/**
 * Parses JSON. An integer beyond 2^53 - 1, which a number would round, becomes the text of its digits. Throws a
 * SyntaxError like `JSON.parse`.
 */
export function parseLossless(text: string): unknown {
  return JSON.parse(/\d{16}/u.test(text) ? withQuotedIntegers(text) : text);
}

/** The text with quotes around the integers that a number would round. A regular expression cannot skip long strings. */
function withQuotedIntegers(text: string): string {
  let quoted = '';
  for (let at = 0; at < text.length;) {
    const quote = text.indexOf('"', at);
    const start = quote === -1 ? text.length : quote;
    const end = quote === -1 ? text.length : endOfString(text, quote);
    const between = text.slice(at, start);
    quoted += between.replaceAll(LONG_INTEGER, (digits) =>
      Number.isSafeInteger(Number(digits)) ? digits : `"${digits}"`,
    );
    quoted += text.slice(start, end);
    at = end;
  }
  return quoted;
}

/** The index after the closing quote; the length of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return end + 1;
  }
  return text.length;
}

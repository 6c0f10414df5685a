/**
 * Extracts the text of one member from a JSON object that arrives in pieces, as far as the text is known. All other
 * text yields nothing.
 *
 * before ──"name": "──▶ inside ──"──▶ after
 */
export class JsonTextMember {
  readonly #opening: RegExp;
  #state: 'before' | 'inside' | 'after' = 'before';
  #heldText = '';

  /** `place`: whether the member must be the first one (`first`) or may follow others (`any`). */
  constructor(name: string, place: 'first' | 'any' = 'first') {
    const before = place === 'first' ? String.raw`^\s*\{\s*` : '';
    this.#opening = new RegExp(String.raw`${before}"${name}"\s*:\s*"`, 'u');
  }

  push(piece: string): string {
    this.#heldText += piece;
    if (this.#state === 'before') this.#open();
    return this.#state === 'inside' ? this.#read() : '';
  }

  #open(): void {
    const opening = this.#opening.exec(this.#heldText);
    if (opening === null) return;
    this.#heldText = this.#heldText.slice(opening.index + opening[0].length);
    this.#state = 'inside';
  }

  #read(): string {
    // Takes whole characters and escapes, up to the closing quote. Half of a surrogate pair waits for the other half.
    const whole = /^(?:[^"\\]|\\u[\da-fA-F]{4}|\\[^u])*/u.exec(this.#heldText)?.[0] ?? '';
    const text = whole.replace(/\\u[dD][89abAB][\da-fA-F]{2}$/u, '');
    const isClosed = this.#heldText[whole.length] === '"';
    const taken = isClosed ? whole : text;
    this.#heldText = this.#heldText.slice(taken.length);
    if (isClosed) this.#state = 'after';
    return decodedText(taken);
  }
}

function decodedText(text: string): string {
  try {
    // A model may leave line breaks and tabs unescaped, which JSON does not allow.
    return JSON.parse(
      `"${text
        .replaceAll('\n', String.raw`\n`)
        .replaceAll('\r', String.raw`\r`)
        .replaceAll('\t', String.raw`\t`)}"`,
    ) as string;
  } catch {
    return text;
  }
}

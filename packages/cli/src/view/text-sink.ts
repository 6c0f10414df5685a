import { MarkdownStream } from '../terminal/markdown.js';
import type { Screen } from '../terminal/screen.js';
import { VisibleStream } from '../terminal/untrusted.js';

/** Shows the text of one item as it streams. */
export interface TextSink {
  push(text: string): void;
  end(): void;
}

/** Shows text without formatting. Escapes hidden characters. */
export class PlainSink implements TextSink {
  readonly #write: (text: string) => void;
  readonly #stream = new VisibleStream();
  #isFirst = true;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  push(text: string): void {
    const piece = this.#isFirst ? text.replace(/^\uFEFF/u, '') : text;
    if (text !== '') this.#isFirst = false;
    this.#write(this.#stream.push(piece));
  }

  end(): void {
    this.#write(this.#stream.end());
  }
}

/** Returns a sink that renders a model's Markdown at a terminal. */
export function markdownSink(screen: Screen): TextSink {
  let hasBegun = false;
  const write = (text: string) => {
    if (!hasBegun) screen.line('');
    hasBegun = true;
    screen.write(text);
  };
  return new MarkdownStream(write, screen.style, () => screen.columns);
}

/** Shows a script while it streams. */
export class SourceSink implements TextSink {
  readonly #screen: Screen;
  readonly #decode: (text: string) => string;
  readonly #stream = new VisibleStream();
  #isLineOpen = false;
  #hasBegun = false;
  /** The number of buffered blank lines. They are written before the next line with text. */
  #blankLines = 0;

  /** `decode` converts the stream to source text. */
  constructor(screen: Screen, decode: (text: string) => string = (text) => text) {
    this.#screen = screen;
    this.#decode = decode;
  }

  push(text: string): void {
    this.#show(this.#stream.push(this.#decode(text)));
  }

  end(): void {
    this.#show(this.#stream.end());
    if (this.#isLineOpen) this.#screen.write('\n');
    this.#isLineOpen = false;
  }

  #show(text: string): void {
    for (const [index, line] of text.split('\n').entries()) {
      if (index > 0) this.#endLine();
      if (line !== '') this.#write(line);
    }
  }

  #endLine(): void {
    if (this.#isLineOpen) this.#screen.write('\n');
    else if (this.#hasBegun) this.#blankLines += 1;
    this.#isLineOpen = false;
  }

  #write(text: string): void {
    const { style } = this.#screen;
    const bar = `  ${style.dim('│')} `;
    if (!this.#hasBegun) this.#screen.toLineStart();
    this.#hasBegun = true;
    for (; this.#blankLines > 0; this.#blankLines -= 1) this.#screen.write(`${bar.trimEnd()}\n`);
    if (!this.#isLineOpen) this.#screen.write(bar);
    this.#isLineOpen = true;
    this.#screen.write(style.dim(text));
  }
}

import { createInterface } from 'node:readline';

/** A prompt, or why there is none: the end of input, or Ctrl-C on an empty line. */
export type PromptLine =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'end' }
  | { readonly type: 'interrupt' };

/** Lines that come at once were pasted, and are one prompt. */
const PASTE_MS = 30;

const MAX_HISTORY = 200;

/**
 * Reads prompts at a terminal, with editing and history. A line that ends in a backslash goes on on the next one.
 * Between prompts the keyboard is nobody's.
 */
export class PromptReader {
  readonly #history: string[] = [];
  readonly #sign: string;

  constructor(sign: string) {
    this.#sign = sign;
  }

  read(): Promise<PromptLine> {
    const lines = createInterface({
      input: process.stdin,
      output: process.stdout,
      terminal: true,
      history: [...this.#history],
      historySize: MAX_HISTORY,
      prompt: this.#sign,
    });
    return new Promise((resolve) => {
      const said: string[] = [];
      let timer: NodeJS.Timeout | undefined;
      let ended: PromptLine = { type: 'end' };
      const finish = (end: PromptLine) => {
        ended = end;
        clearTimeout(timer);
        lines.close();
      };
      lines.on('line', (line) => {
        clearTimeout(timer);
        said.push(line);
        if (line.endsWith('\\')) return lines.prompt();
        timer = setTimeout(() => finish(this.#text(said)), PASTE_MS);
      });
      lines.on('SIGINT', () => {
        if (lines.line === '' && said.length === 0) return finish({ type: 'interrupt' });
        // What was typed is given up.
        said.splice(0);
        process.stdout.write('^C\n');
        lines.write(null, { ctrl: true, name: 'u' });
        lines.prompt();
      });
      lines.on('close', () => {
        clearTimeout(timer);
        resolve(said.length > 0 && ended.type === 'end' ? this.#text(said) : ended);
      });
      lines.prompt();
    });
  }

  #text(lines: readonly string[]): PromptLine {
    const text = lines.map((line) => line.replace(/\\$/u, '')).join('\n');
    if (text.trim() !== '' && this.#history[0] !== text && !text.includes('\n')) this.#history.unshift(text);
    return { type: 'text', text };
  }
}

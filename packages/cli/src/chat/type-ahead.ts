import { emitKeypressEvents, type Key } from 'node:readline';
import type { Screen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { MARK_PASTES, NO_MARKS } from './prompt-line.js';

export interface TypeAheadOptions {
  readonly screen: Screen;
  /** Called on Escape and Ctrl-C. */
  readonly interrupt: () => void;
  /** Called on Shift-Tab. */
  readonly changeMode: () => void;
  /** Called for the line `/bg`. */
  readonly moveToBackground: () => void;
}

/**
 * Reads the keyboard while a turn runs, so that typed text never appears inside the answer: the screen shows it on its
 * live line. Enter queues the text as a prompt for the next turn. While a question is open, the question reads the keys.
 */
export class TypeAhead {
  readonly #options: TypeAheadOptions;
  readonly #queue: string[] = [];
  #text = '';
  #isPasting = false;
  readonly #onKey = (text: string | undefined, key: Key) => this.#press(text ?? '', key);

  constructor(options: TypeAheadOptions) {
    this.#options = options;
  }

  /** Reads keys during `turn`. */
  async during<Value>(turn: () => Promise<Value>): Promise<Value> {
    const { screen } = this.#options;
    emitKeypressEvents(process.stdin);
    process.stdin.on('keypress', this.#onKey);
    process.stdout.write(MARK_PASTES);
    screen.onRelease = () => this.#read(true);
    this.#read(true);
    try {
      return await turn();
    } finally {
      screen.onRelease = undefined;
      process.stdin.off('keypress', this.#onKey);
      this.#read(false);
      process.stdout.write(NO_MARKS);
      screen.setTyped('');
    }
  }

  /** The oldest queued prompt, which is removed. */
  next(): string | undefined {
    return this.#queue.shift();
  }

  /** The text that was typed without Enter, which is removed. */
  takeUnfinished(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }

  #read(isReading: boolean): void {
    try {
      process.stdin.setRawMode(isReading);
    } catch {
      // The terminal was closed.
    }
    if (isReading) process.stdin.ref().resume();
    else process.stdin.pause();
  }

  #press(text: string, key: Key): void {
    const { screen, interrupt, changeMode } = this.#options;
    if (screen.isHeld) return;
    if (key.name === 'paste-start' || key.name === 'paste-end') this.#isPasting = key.name === 'paste-start';
    else if (this.#isPasting) this.#text += text === '\r' ? '\n' : text;
    else if (key.name === 'escape' || (key.ctrl === true && key.name === 'c')) return interrupt();
    else if (key.name === 'tab' && key.shift === true) return changeMode();
    else if (key.name === 'return' || key.name === 'enter') this.#enqueue();
    else if (key.name === 'backspace') this.#text = Array.from(this.#text).slice(0, -1).join('');
    else if (key.ctrl === true && key.name === 'u') this.#text = '';
    else if (key.ctrl !== true && key.meta !== true && !text.startsWith('\x1b')) this.#text += text;
    screen.setTyped(this.#text);
  }

  #enqueue(): void {
    const text = this.takeUnfinished();
    if (text.trim() === '') return;
    if (text.trim() === '/bg') return this.#options.moveToBackground();
    this.#queue.push(text);
    const { screen } = this.#options;
    screen.line(screen.style.dim(`  queued: ${visibleLine(text)}`));
  }
}

import type { Screen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { callSummary } from './call-summary.js';
import { shortDuration } from './durations.js';

const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const FRAME_MS = 100;
/** Calls that end sooner are never shown, in ms. */
const PATIENCE_MS = 300;

/** The running tool calls, on the screen's live line. The timer never keeps the process alive. */
export class LiveCalls {
  readonly #screen: Screen;
  readonly #calls = new Map<string, { text: string; sinceMs: number }>();
  #timer: NodeJS.Timeout | undefined;
  #frame = 0;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  start(callId: string, tool: string, input: unknown): void {
    if (!this.#screen.isTerminal) return;
    this.#calls.set(callId, {
      text: `${visibleLine(tool)} ${callSummary(input)}`.trimEnd(),
      sinceMs: performance.now(),
    });
    this.#timer ??= setInterval(() => this.#show(), FRAME_MS).unref();
  }

  end(callId: string): void {
    this.#calls.delete(callId);
    if (this.#calls.size === 0) this.stop();
    else this.#show();
  }

  stop(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#calls.clear();
    this.#screen.setLive('');
  }

  #show(): void {
    const [oldest] = this.#calls.values();
    if (oldest === undefined) return;
    const elapsedMs = performance.now() - oldest.sinceMs;
    if (elapsedMs < PATIENCE_MS) return;
    this.#frame = (this.#frame + 1) % FRAMES.length;
    const others = this.#calls.size - 1;
    const more = others === 0 ? '' : ` (and ${others} more)`;
    this.#screen.setLive(`  ${FRAMES[this.#frame]} ${shortDuration(elapsedMs)}  ${oldest.text}${more}`);
  }
}

import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { Scene, type Turn } from '../chat/scene.js';
import { cleanEnvironment, PROGRAM } from './program.js';

export const hasTmux = spawnSync('tmux', ['-V']).status === 0;
if (!hasTmux) console.log('skipped: these tests need tmux');

const MAX_LOOKS = 300;

/** A terminal of 80 columns with the program in it. */
export class Tmux {
  readonly scene = new Scene();
  readonly #socket = join(this.scene.base, 'tmux');

  /** Starts a conversation with a scripted model. */
  start(turns: readonly Turn[], ...more: string[]): void {
    this.open([...this.scene.model(...turns), ...more]);
  }

  /** Starts the program with these words and variables. */
  open(words: readonly string[], more: Readonly<Record<string, string>> = {}): void {
    onTestFinished(() => this.close());
    const args = [process.execPath, PROGRAM, ...words];
    const env = { ...cleanEnvironment({ ...this.scene.env, ...more }), NO_COLOR: '1', TMUX_TMPDIR: this.scene.base };
    const size = ['-x', '80', '-y', '40'];
    const command = args.map((word) => `'${word}'`).join(' ');
    execFileSync(
      'tmux',
      ['-S', this.#socket, '-f', '/dev/null', 'new-session', '-d', ...size, '-c', this.scene.workspace, command],
      { env },
    );
  }

  keys(...keys: string[]): void {
    this.#tmux('send-keys', ...keys);
  }

  type(words: string): void {
    this.#tmux('send-keys', '-l', words);
  }

  /** Types a line. Waits until the composer shows it, and presses Enter. */
  async send(line: string): Promise<void> {
    this.type(line);
    await this.see(`› ${line}`);
    this.keys('Enter');
  }

  resize(columns: number): void {
    this.#tmux('resize-window', '-x', String(columns), '-y', '40');
  }

  shown(): string {
    return this.#tmux('capture-pane', '-p', '-S', '-200').trimEnd();
  }

  /** Waits until the screen shows the text. */
  async see(wanted: string | RegExp): Promise<string> {
    let shown = '';
    for (let looks = 0; looks < MAX_LOOKS; looks++) {
      shown = this.shown();
      if (typeof wanted === 'string' ? shown.includes(wanted) : wanted.test(shown)) return shown;
      await sleep(100);
    }
    throw new Error(`The terminal does not show ${String(wanted)}:\n${shown}`);
  }

  /** Kills the program without a warning. Waits until the terminal has ended. */
  async kill(): Promise<void> {
    process.kill(this.#pid(), 'SIGKILL');
    for (let looks = 0; looks < MAX_LOOKS && this.isOpen(); looks++) await sleep(100);
  }

  /** The resident memory of the program. */
  memoryMb(): number {
    const status = readFileSync(`/proc/${this.#pid()}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB/mu.exec(status)![1]) / 1024;
  }

  #pid(): number {
    return Number(this.#tmux('display-message', '-p', '#{pane_pid}'));
  }

  isOpen(): boolean {
    return spawnSync('tmux', ['-S', this.#socket, 'has-session']).status === 0;
  }

  /** True if the bell of a window has rung that was not the current one. */
  hasRung(): boolean {
    return this.#tmux('list-windows', '-F', '#{window_bell_flag}').includes('1');
  }

  /** Ends the terminal, and waits until each program has ended that uses the scene. */
  async close(): Promise<void> {
    spawnSync('tmux', ['-S', this.#socket, 'kill-server']);
    for (let looks = 0; looks < MAX_LOOKS && spawnSync('pgrep', ['-f', this.scene.base]).status === 0; looks++)
      await sleep(100);
  }

  #tmux(...args: string[]): string {
    return execFileSync('tmux', ['-S', this.#socket, ...args], { encoding: 'utf8' });
  }
}

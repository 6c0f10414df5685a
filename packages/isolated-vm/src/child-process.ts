import { fork, type ChildProcess } from 'node:child_process';
import { isolatedVmInstall } from '@toolscript/core/internal';
import { ownFile } from './own-files.js';
import type { ChildCommand, ChildReport } from './messages.js';

interface SandboxProcessHandlers {
  onReport(report: ChildReport): void;
  /** Called if the child process could not start, or if it ended and `kill` was not called. */
  onLost(how: { readonly signal: string | null; readonly detail: string }): void;
}

/** One child process as the pool sees it. */
export class SandboxProcess {
  readonly ready: Promise<void>;
  /** Keys of the live runs of this process. */
  readonly runs = new Set<number>();
  readonly #child: ChildProcess;
  #isLost = false;
  #failure: string | undefined;
  #isReady = false;

  /** `isSolitary`: the process runs only one script, which may have ended an earlier process. */
  constructor(
    modulePath: string,
    handlers: SandboxProcessHandlers,
    readonly isSolitary: boolean,
  ) {
    this.#child = fork(ownFile('child.js'), [modulePath, ownFile('guest.js')], {
      // defence: isolate-empty-environment
      env: { TZ: 'UTC' },
      // isolated-vm requires this flag on Node.js 20 and later.
      execArgv: ['--no-node-snapshot'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      serialization: 'json',
    });
    this.ready = new Promise((resolve, reject) => {
      this.#child.on('message', (message) => {
        const report = message as ChildReport;
        if (this.#isLost || !Array.isArray(report)) return;
        if (report[0] === 'failed') this.#failure = String(report[1]);
        else if (report[0] === 'ready') {
          this.#isReady = true;
          this.#hold();
          resolve();
        } else handlers.onReport(report);
      });
      const lose = (signal: string | null, detail: string) => {
        reject(new Error(detail));
        if (this.#isLost) return;
        this.#isLost = true;
        handlers.onLost({ signal, detail });
      };
      this.#child.on('error', (error) => lose(null, error.message));
      this.#child.on('exit', (code, signal) =>
        lose(
          signal,
          this.#failure ??
            `The process of isolated-vm ended (${signal ?? `code ${code}`}). Give the process more memory, or install isolated-vm again: ${isolatedVmInstall()}`,
        ),
      );
    });
    this.ready.catch(() => {});
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  add(run: number): void {
    this.runs.add(run);
    this.#hold();
  }

  remove(run: number): void {
    this.runs.delete(run);
    this.#hold();
  }

  send(command: ChildCommand): void {
    if (!this.#isLost && this.#child.connected) this.#child.send(command, () => {});
  }

  /** Kills the process. Resolves when the process, and with it every guest, has ended. */
  async kill(): Promise<void> {
    this.#isLost = true;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.ref();
    this.#child.kill('SIGKILL');
    await gone;
  }

  /**
   * Keeps the host's process alive while the child starts or runs a script. At other times, the host's process may
   * exit.
   */
  #hold(): void {
    if (this.runs.size > 0 || !this.#isReady) {
      this.#child.ref();
      this.#child.channel?.ref();
    } else {
      this.#child.unref();
      this.#child.channel?.unref();
    }
  }
}

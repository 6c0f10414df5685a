// The child process receives scripts as text, runs each in a separate isolate, and sends its reports as text. It has no
// environment variables of the host, no output and no tools, but it has the rights of the host's user.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { bootIsolate, IsolateRun, type BootedIsolate, type IsolatedVm, type IsolateSegment } from './isolate-run.js';
import { ProcessMemory } from './process-memory.js';
import type { ChildCommand, ChildReport, IsolateStart } from './messages.js';

const [, , modulePath = '', guestPath = ''] = process.argv;

class Child {
  readonly #ivm: IsolatedVm;
  readonly #guest: string;
  readonly #memory = new ProcessMemory();
  /** Live runs by key; the value is undefined while the run's isolate boots. */
  readonly #runs = new Map<number, IsolateRun | undefined>();
  /** An isolate that was booted in advance, because booting takes longer than most scripts. */
  #spare: Promise<BootedIsolate> | undefined;

  constructor(ivm: IsolatedVm, guest: string) {
    this.#ivm = ivm;
    this.#guest = guest;
  }

  execute(command: ChildCommand): void {
    switch (command[0]) {
      case 'run':
        return void this.#start(command[1], command[2]);
      case 'settle': {
        const run = this.#runs.get(command[1]);
        return void (run !== undefined && this.#report(command[1], run.settle(command[2], command[3], command[4])));
      }
      case 'drop':
        return void this.#drop(command[1]);
    }
  }

  async #drop(key: number): Promise<void> {
    const run = this.#runs.get(key);
    this.#runs.delete(key);
    await run?.drop();
    send(['dropped', key]);
  }

  prepare(memoryMb: number): void {
    this.#spare = bootIsolate(this.#ivm, this.#guest, memoryMb);
    this.#spare.catch(() => {});
  }

  async #start(key: number, start: IsolateStart): Promise<void> {
    this.#runs.set(key, undefined);
    try {
      const run = new IsolateRun(await this.#isolate(start.memoryMb), start.computeMs, this.#memory);
      if (!this.#runs.has(key)) return await run.drop();
      this.#runs.set(key, run);
      send(['begun', key]);
      await this.#report(key, run.start(start));
    } catch (error) {
      const figures = { computeMs: 0, memoryBytes: 0, unhandled: [] };
      send(['segment', key, '', { ...figures, end: { type: 'internal', detail: String(error) } }]);
    }
  }

  async #isolate(memoryMb: number): Promise<BootedIsolate> {
    const spare = this.#spare;
    // defence: isolate-used-once
    this.#spare = undefined;
    setImmediate(() => (this.#spare === undefined ? this.prepare(memoryMb) : undefined));
    const booted = await spare;
    if (booted?.memoryMb === memoryMb) return booted;
    booted?.isolate.dispose();
    return bootIsolate(this.#ivm, this.#guest, memoryMb);
  }

  async #report(key: number, running: Promise<IsolateSegment>): Promise<void> {
    const { text, figures } = await running;
    send(['segment', key, text, figures]);
  }
}

function send(report: ChildReport): void {
  process.send?.(report);
}

/** The default of the limit `memoryMb`. A script with another limit waits until its isolate has booted. */
const USUAL_MEMORY_MB = 96;

function serve(): void {
  const ivm = createRequire(import.meta.url)(modulePath) as IsolatedVm;
  const child = new Child(ivm, readFileSync(guestPath, 'utf8'));
  child.prepare(USUAL_MEMORY_MB);
  process.on('message', (command) => child.execute(command as ChildCommand));
  process.on('disconnect', () => process.exit());
  send(['ready']);
}

try {
  serve();
} catch (error) {
  send(['failed', String(error)]);
  process.exitCode = 1;
  process.disconnect?.();
}

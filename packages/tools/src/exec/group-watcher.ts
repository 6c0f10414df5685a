import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';

/** Time without process groups after which the watcher ends, in ms. */
const IDLE_MS = 1_000;

/**
 * Reads `+ LEADER` and `- LEADER` until the end of its input, then kills the groups that are left. Its input ends with
 * the process that writes it, also if that process is killed.
 */
const SCRIPT = `all=' '
while read -r change leader; do
  case $change in
    +) all="$all$leader " ;;
    -) all="\${all%%" $leader "*} \${all#*" $leader "}" ;;
  esac
done
for leader in $all; do kill -KILL "-$leader"; done`;

/** A process that kills process groups when this process has ended, however it ended. Windows has none. */
export class GroupWatcher {
  readonly #leaders = new Set<number>();
  #input: Socket | undefined;
  #idle: NodeJS.Timeout | undefined;

  /** Starts the watcher before a group, because a group that starts first could outlive a host that is killed then. */
  prepare(): void {
    if (this.#input === undefined && process.platform !== 'win32') this.#start();
    this.#endWhenIdle();
  }

  add(leader: number): void {
    this.#leaders.add(leader);
    clearTimeout(this.#idle);
    this.#input?.write(`+ ${leader}\n`);
  }

  delete(leader: number): void {
    this.#leaders.delete(leader);
    this.#input?.write(`- ${leader}\n`);
    this.#endWhenIdle();
  }

  #endWhenIdle(): void {
    clearTimeout(this.#idle);
    if (this.#leaders.size === 0) this.#idle = setTimeout(() => this.#end(), IDLE_MS).unref();
  }

  #start(): void {
    // defence: commands-end-with-a-killed-host
    const watcher = spawn('/bin/sh', ['-c', SCRIPT], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], env: {} });
    // Without free descriptors, there is no pipe.
    const input = watcher.stdin as Socket | undefined;
    this.#input = input;
    // If the watcher does not start or is killed, the next group starts another one.
    const left = (): void => {
      if (this.#input === input) this.#input = undefined;
    };
    watcher.on('error', left).on('exit', left).unref();
    if (input === undefined) return;
    input.on('error', left).unref();
    for (const leader of this.#leaders) input.write(`+ ${leader}\n`);
  }

  #end(): void {
    this.#input?.end();
    this.#input = undefined;
  }
}

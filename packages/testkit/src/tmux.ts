import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';

/** Keys that are pressed when a text appears on the screen. */
export interface TerminalStep {
  readonly wait: string;
  readonly keys: string;
}

/** A terminal is this large, so that no line of a page is broken and nothing scrolls away. */
const COLUMNS = '100';
const ROWS = '60';

const MAX_LOOKS = 1_600;
const BETWEEN_LOOKS_S = '0.05';

/** Printed by the shell after the command. */
const END = /^\[status (\d+)\]$/mu;

/** `WAIT => KEYS | WAIT => KEYS`. */
export function stepsIn(text: string): TerminalStep[] {
  if (text === '') return [];
  return text.split(' | ').map((step) => {
    const [wait = '', keys = ''] = step.split(' => ');
    return { wait, keys };
  });
}

/**
 * Runs a command by the shell in a separate terminal, and answers the text that appears. Returns the text of the screen
 * at the end, with the exit status; undefined, with a printed reason, if tmux is missing.
 */
export function shownAtTerminal(
  command: string,
  steps: readonly TerminalStep[],
  where: { cwd: string; env: NodeJS.ProcessEnv },
): string | undefined {
  if (spawnSync('tmux', ['-V']).status !== 0) {
    if (process.env['CI'] !== undefined) throw new Error('tmux is missing: install it to run the transcripts.');
    process.stderr.write('skipped: the transcripts of the pages, because tmux is missing\n');
    return undefined;
  }
  const terminal = new Terminal(where);
  try {
    terminal.start(`${command.trimEnd()}\nprintf '[status %s]\\n' $?\nexec sleep 60`);
    for (const { wait, keys } of steps) {
      terminal.await((screen) => screen.includes(wait), wait);
      terminal.press(keys);
    }
    return terminal.await((screen) => END.test(screen), 'the end').replace(/(?<=^\[status \d+\]$)[^]*/mu, '');
  } finally {
    terminal.end();
  }
}

/** A server of tmux with one session. */
class Terminal {
  readonly #where: { cwd: string; env: NodeJS.ProcessEnv };
  readonly #socket = `toolscript-${randomUUID()}`;

  constructor(where: { cwd: string; env: NodeJS.ProcessEnv }) {
    this.#where = where;
  }

  start(script: string): void {
    this.#tmux('-f', '/dev/null', 'new-session', '-d', '-x', COLUMNS, '-y', ROWS, 'sh', '-c', script);
  }

  /** Polls the screen until the check succeeds. Returns its text. */
  await(isWanted: (screen: string) => boolean, name: string): string {
    let screen = '';
    for (let looks = 0; looks < MAX_LOOKS; looks++) {
      screen = this.#tmux('capture-pane', '-p');
      if (isWanted(screen)) return screen;
      spawnSync('sleep', [BETWEEN_LOOKS_S]);
    }
    throw new Error(`The terminal does not show ${JSON.stringify(name)}:\n${screen}`);
  }

  press(keys: string): void {
    this.#tmux('send-keys', '-l', keys.replaceAll('⏎', '\r'));
  }

  end(): void {
    this.#tmux('kill-server');
  }

  #tmux(...args: string[]): string {
    const { stdout } = spawnSync('tmux', ['-L', this.#socket, ...args], { ...this.#where, encoding: 'utf8' });
    return stdout;
  }
}

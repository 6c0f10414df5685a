import { spawn } from 'node:child_process';

/** Shows a notification of the desktop, for a process without a terminal. Does nothing where no program shows them. */
export function notifyDesktop(message: string): Promise<void> {
  const [program, ...args] =
    process.platform === 'darwin'
      ? ['osascript', '-e', `display notification ${JSON.stringify(message)} with title "toolscript"`]
      : ['notify-send', '--', 'toolscript', message];
  return new Promise((resolve) => {
    const child = spawn(program!, args, { stdio: 'ignore', timeout: 10_000 });
    child.on('error', () => resolve());
    child.on('close', () => resolve());
  });
}

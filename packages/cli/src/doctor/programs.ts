import { execFile } from 'node:child_process';

const PATIENCE_MS = 5_000;

/** The first line of `NAME --version`; undefined if the program does not start. */
export async function programVersion(name: string): Promise<string | undefined> {
  return firstLine(name, '--version');
}

function firstLine(name: string, flag: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(
      name,
      [flag],
      { timeout: PATIENCE_MS, maxBuffer: 64 * 1024, windowsHide: true },
      (error, stdout, stderr) => {
        if (error !== null && typeof error.code === 'string') return resolve(undefined);
        resolve((stdout || stderr).split('\n')[0]?.trim() ?? '');
      },
    );
  });
}

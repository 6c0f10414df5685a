import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { PROGRAM, start, type StartOptions } from '../../support/program.js';

export interface Served {
  /** The server without its token. */
  readonly url: string;
  readonly token: string;
  // Tests look into answers as they need.
  // oxlint-disable-next-line typescript/no-explicit-any
  api(path: string, body?: unknown, method?: string): Promise<any>;
  /** The types and payloads of a run's events, until its stream ends. */
  follow(runId: string): Promise<string>;
  /** The complete output. */
  readonly printed: () => string;
  /** Ends it by a signal. Returns the exit status. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

/** `toolscript serve` in a process of its own. */
export async function serve(args: readonly string[], options: StartOptions = {}): Promise<Served> {
  const child = start(process.execPath, [PROGRAM, 'serve', '--port', '0', ...args], options);
  let printed = '';
  child.stderr.on('data', (chunk) => (printed += String(chunk)));
  const lines = createInterface(child.stdout);
  lines.on('line', (line) => (printed += `${line}\n`));
  const first = await Promise.race([once(lines, 'line'), once(child, 'exit')]);
  const named = options.env?.['TOOLSCRIPT_TOKEN'];
  const [, url, token = named] = /^(http:.*)\/(?:#token=(.*))?$/u.exec(String(first[0])) ?? [];
  if (url === undefined || token === undefined) throw new Error(`The server did not start: ${printed}`);
  const headers = { authorization: `Bearer ${token}` };
  return {
    url,
    token,
    async api(path, body, method = body === undefined ? 'GET' : 'POST') {
      const sent = {
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      };
      const response = await fetch(`${url}/api/v2/${path}`, { method, ...(body === undefined ? { headers } : sent) });
      return response.status === 204 ? undefined : response.json();
    },
    follow: async (runId) => (await fetch(`${url}/api/v2/stream/${runId}`, { headers })).text(),
    printed: () => printed,
    async end(signal = 'SIGTERM') {
      if (child.exitCode === null && child.kill(signal)) await once(child, 'exit');
      return child.exitCode;
    },
  };
}

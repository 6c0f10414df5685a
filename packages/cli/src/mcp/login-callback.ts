import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { UsageError } from '../usage-error.js';

/** The time that the user has to log in with the browser, in ms. */
const LOGIN_MS = 5 * 60_000;

/** The HTTP server at the redirect address. Only this machine can reach the server. */
export class LoginCallback {
  /** True after a login page was shown. */
  isAwaited = false;
  #arrive: (address: URL) => void = () => {};
  readonly #arrived = new Promise<URL>((resolve) => (this.#arrive = resolve));
  readonly #server = createServer((request, response) => {
    const { url: path = '/' } = request;
    // Not every request has a valid path, such as `//`.
    const address = URL.canParse(path, this.url) ? new URL(path, this.url) : undefined;
    if (address?.pathname !== '/callback') return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
    response.end('You can close this page and go back to the terminal.\n');
    this.#arrive(address);
  });

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/callback`;
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /**
   * The URL to which the browser was redirected. The URL contains the authorization code. Throws a UsageError if the
   * user does not log in within LOGIN_MS.
   */
  async address(): Promise<URL> {
    const address = await Promise.race([this.#arrived, sleep(LOGIN_MS, undefined, { ref: false })]);
    if (address !== undefined) return address;
    throw new UsageError('The login was not completed within 5 minutes. To try again, repeat the command.');
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

import type { Gateway } from '@toolscript/mcp';

/** The time in ms without further changes after which clients get one notification for all changes. */
const REFRESH_MS = 200;

/** Notifies the clients of a gateway, shortly after the last of several changes to its tools. */
export class GatewayRefresh {
  #gateway: Gateway | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Requests a notification. Called after each change. */
  readonly request = (): void => {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#gateway?.refresh(), REFRESH_MS).unref();
  };

  follow(gateway: Gateway): void {
    this.#gateway = gateway;
    this.request();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#gateway = undefined;
  }
}

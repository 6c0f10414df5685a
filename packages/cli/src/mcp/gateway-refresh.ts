import type { Gateway } from '@toolscript/mcp';

/** Clients get one notification for all changes within this time, in ms. */
const REFRESH_MS = 200;

/** Notifies the clients of a gateway that the tools have changed, a moment after the last change. */
export class GatewayRefresh {
  #gateway: Gateway | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Call this after each change. */
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

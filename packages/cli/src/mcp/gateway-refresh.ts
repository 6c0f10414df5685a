import type { Gateway } from '@toolscript/mcp';

/** Changes of many servers within this time, in ms, are one for clients. */
const REFRESH_MS = 200;

/** Notifies the clients of a gateway that the tools have changed, a moment after the last change. */
export class GatewayRefresh {
  #gateway: Gateway | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Something has changed. */
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

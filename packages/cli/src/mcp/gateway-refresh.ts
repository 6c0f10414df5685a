import type { Gateway } from '@toolscript/mcp';
import type { GatewayServers } from './gateway-servers.js';
import type { StoredOffer } from './stored-offer.js';

/** The time in ms without further changes after which clients get one notification for all changes. */
const REFRESH_MS = 200;

/**
 * Notifies the clients of a gateway, shortly after the last of several changes to its tools, and stores what they are
 * shown.
 */
export class GatewayRefresh {
  readonly #stored: StoredOffer | undefined;
  readonly #warn: (message: string) => void;
  #followed: { readonly gateway: Gateway; readonly servers: GatewayServers } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #storing: Promise<void> = Promise.resolve();

  /** `stored`: default: nothing is stored. */
  constructor(stored: StoredOffer | undefined, warn: (message: string) => void) {
    this.#stored = stored;
    this.#warn = warn;
  }

  /** Requests a notification. Called after each change. */
  readonly request = (): void => {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#refresh(), REFRESH_MS).unref();
  };

  /** Follows a gateway whose servers are open. A repeated call does nothing. */
  follow(gateway: Gateway, servers: GatewayServers): void {
    if (this.#followed !== undefined) return;
    this.#followed = { gateway, servers };
    this.request();
  }

  /** Resolves when what the clients were shown last is stored. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#stored !== undefined) this.#refresh();
    this.#followed = undefined;
    await this.#storing;
  }

  #refresh(): void {
    if (this.#followed === undefined) return;
    const { gateway, servers } = this.#followed;
    const offer = gateway.refresh();
    const isSettled = servers.opened?.status().every(({ state }) => state !== 'connecting') ?? true;
    if (isSettled)
      this.#storing = this.#stored?.write(offer).catch((error: Error) => this.#warn(error.message)) ?? this.#storing;
  }
}

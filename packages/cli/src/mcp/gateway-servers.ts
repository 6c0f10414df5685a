import type { AttachableHarness, McpServers } from '@toolscript/mcp';

/**
 * The time in ms, from their start, that the gateway waits for its servers when a client first needs tools. The tools of
 * slower servers are added later.
 */
export const SERVERS_WAIT_MS = 5_000;

/** The MCP servers of a gateway. They are opened at once, or when tools are first needed. */
export class GatewayServers {
  readonly #open: () => Promise<McpServers | undefined>;
  #opening: Promise<McpServers | undefined> | undefined;
  #harness: AttachableHarness | undefined;
  #waitsUntil = 0;
  /** Undefined before they are opened, and if there are none. */
  opened: McpServers | undefined;

  constructor(open: () => Promise<McpServers | undefined>) {
    this.#open = open;
  }

  /** Opens the servers, once. Rejects if that fails. */
  open(): Promise<McpServers | undefined> {
    this.#opening ??= this.#openNow();
    return this.#opening;
  }

  /** Gives the tools to the harness, as soon as the servers are open. */
  attachTo(harness: AttachableHarness): void {
    this.#harness = harness;
    this.opened?.attach(harness);
  }

  /** Opens and starts the servers, and waits for those whose tools are not known. */
  async ready(): Promise<void> {
    const servers = await this.open();
    await servers?.ready(Math.max(0, this.#waitsUntil - performance.now()));
  }

  async close(): Promise<void> {
    await (await this.#opening)?.close();
  }

  async #openNow(): Promise<McpServers | undefined> {
    this.#waitsUntil = performance.now() + SERVERS_WAIT_MS;
    this.opened = await this.#open();
    if (this.#harness !== undefined) this.opened?.attach(this.#harness);
    return this.opened;
  }
}

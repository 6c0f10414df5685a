import type { Harness } from '@toolscript/core';
import type { McpServers } from '@toolscript/mcp';
import type { McpEndpoint } from '@toolscript/server';
import type { Settings } from '../configuration/settings.js';
import { emptyFolder } from '../configuration/workspace-folder.js';
import { GatewayRefresh } from '../mcp/gateway-refresh.js';
import { GatewayServers, SERVERS_WAIT_MS } from '../mcp/gateway-servers.js';
import { makeGateway, type GatewayParts } from '../mcp/open-gateway.js';
import { openServers } from '../mcp/open-servers.js';
import { gatewayEndpoint } from '../mcp/serve-gateway.js';

/** The MCP servers of a service. The service's agents use their tools, and so do MCP clients at `/mcp`. */
export class ServedServers {
  readonly servers: McpServers | undefined;
  readonly #settings: Settings;
  readonly #refresh: GatewayRefresh;
  readonly #warn: (message: string) => void;
  #harness: Harness | undefined;

  private constructor(
    servers: McpServers | undefined,
    { settings, refresh, warn }: { settings: Settings; refresh: GatewayRefresh; warn: (message: string) => void },
  ) {
    this.servers = servers;
    this.#settings = settings;
    this.#refresh = refresh;
    this.#warn = warn;
  }

  /**
   * Starts all servers, even those whose tools no agent exposes. Throws a UsageError for a file that cannot be read.
   */
  static async open(own: Settings, hasWorkspace: boolean, warn: (message: string) => void): Promise<ServedServers> {
    const settings = { ...own, expose: {}, cwd: hasWorkspace ? own.cwd : await emptyFolder(process.env) };
    const refresh = new GatewayRefresh(undefined, warn);
    const { request: onTools } = refresh;
    const servers = await openServers(settings, { environment: process.env, waitMs: SERVERS_WAIT_MS, warn, onTools });
    return new ServedServers(servers, { settings, refresh, warn });
  }

  /** The gateway at `/mcp`. Its scripts get only the tools of the MCP servers. */
  async endpoint(parts: Pick<GatewayParts, 'audit' | 'engines' | 'onInternalError'>): Promise<McpEndpoint> {
    const { gateway, harness } = await makeGateway(this.#settings, {
      ...parts,
      servers: new GatewayServers(async () => this.servers),
      refresh: this.#refresh,
      coding: false,
      followsRoots: false,
      warn: this.#warn,
    });
    this.#harness = harness;
    return gatewayEndpoint(gateway.serveHttp());
  }

  async close(): Promise<void> {
    await this.#refresh.stop();
    await this.#harness?.close();
    await this.servers?.close();
  }
}

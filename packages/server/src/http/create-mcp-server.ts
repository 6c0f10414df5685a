import { accessLimits } from '../access/index.js';
import { openApp } from './open-app.js';
import { OpenStreams } from './open-streams.js';
import { mcpRoute, type McpEndpoint } from './routes/mcp.js';
import { checkOptions, type ServerOptions } from './server-options.js';
import { withFetch, type ToolscriptServer } from './web-fetch.js';

export interface McpServerOptions extends Pick<ServerOptions, 'auth' | 'limits' | 'logger' | 'secrets'> {
  readonly mcp: McpEndpoint;
}

/**
 * A server with only an MCP endpoint, at `/mcp`. It checks requests as `createServer` does. `listen` opens the server,
 * and `close` closes it.
 */
export async function createMcpServer(options: McpServerOptions): Promise<ToolscriptServer> {
  checkOptions(options);
  const limits = accessLimits(options.limits);
  const app = await openApp(options, limits);
  const streams = new OpenStreams(limits, options.auth.keys);
  await app.register(async (scope) => {
    streams.requireRegistration(scope);
    mcpRoute(scope, options.mcp, { streams });
  });
  return withFetch(app);
}

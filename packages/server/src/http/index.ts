export type { AuthOptions } from './auth.js';
export { createMcpServer, type McpServerOptions } from './create-mcp-server.js';
export { createServer, nodeHandler } from './create-server.js';
export { SERVER_ROLES, type ServerOptions, type ServerRole } from './server-options.js';
export type { McpEndpoint, McpRequestOptions } from './routes/mcp.js';
export type { FetchOptions, ToolscriptServer } from './web-fetch.js';

export type {
  HttpTransport,
  OpenApiTransport,
  ServerToStart,
  StdioTransport,
  ToolAction,
} from './configuration/server-config.js';
export type { ReconnectOptions } from './connection/backoff.js';
export type { ConnectionState } from './connection/reconnection.js';
export type {
  ElicitationAnswer,
  ElicitationRequest,
  InboundHandlers,
  SamplingAnswer,
  SamplingRequest,
} from './connection/inbound.js';
export type { GatewayCaller } from './gateway/caller.js';
export { createGateway, type Gateway, type GatewayHttp } from './gateway/gateway.js';
export type { GatewayOffer } from './gateway/descriptions.js';
export type { GatewayOptions } from './gateway/services.js';
export type { SuggestedRule } from './gateway/suggested-rule.js';
export { oauthFile, serversWithLogin, type LoginProvider, type OAuthFileOptions } from './login/oauth-file.js';
export { fileCatalogue, type CatalogueStore } from './servers/catalogue.js';
export { fileShapes, type KeptShapes, type ShapeStore } from './servers/result-shapes.js';
export { connectMcpServers, type AttachableHarness, type McpServers } from './servers/mcp-servers.js';
export type { McpEvent, McpOptions, McpServerStatus, NoticeOptions } from './servers/options.js';
export type { SkippedTool, ToolNotes } from './tools/definition.js';
export type { TrustRequest, UntrustedTool } from './trust/review.js';
export { fileTrustStore, memoryTrustStore, type TrustEntry, type TrustStore } from './trust/trust-store.js';

import type { OAuthClientProvider } from '@modelcontextprotocol/client';
import type { ServerToStart } from '../configuration/server-config.js';
import type { InboundHandlers } from '../connection/inbound.js';
import type { ReconnectOptions } from '../connection/backoff.js';
import type { ConnectionState } from '../connection/reconnection.js';
import type { SkippedTool, ToolNotes } from '../tools/definition.js';
import type { TrustRequest, UntrustedTool } from '../trust/review.js';
import type { TrustStore } from '../trust/trust-store.js';
import type { CatalogueStore } from './catalogue.js';
import type { ShapeStore } from './result-shapes.js';

/** All options may be omitted. */
export interface McpOptions extends InboundHandlers {
  /** The variables for `${NAME}` in the configuration. Default: the environment of this process. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /**
   * Returns the reason why a server must not be started, as the end of a sentence; undefined if it may be started. The
   * other servers work.
   */
  readonly refuse?: ((server: ServerToStart) => string | undefined) | undefined;
  /** Stores which tools the user trusts. Default: in memory, for the life of this process. */
  readonly trustStore?: TrustStore | undefined;
  /**
   * `trust`, the default: a new server is trusted, because the user has configured it. `ask`: `onTrust` decides about
   * its tools.
   */
  readonly firstUse?: 'trust' | 'ask' | undefined;
  /**
   * Decides about new and changed tools, which are held back until this function has answered. Default: such tools are
   * held back until `trust` is called.
   */
  readonly onTrust?: ((request: TrustRequest) => boolean | Promise<boolean>) | undefined;
  /**
   * Offers `listMcpResources`, `listMcpResourceTemplates`, `readMcpResource` and `watchMcpResource` if a server has
   * resources. Default true.
   */
  readonly resources?: boolean | undefined;
  /**
   * Maximum time that `connectMcpServers` waits for servers, in ms. A server that connects later adds its tools when it
   * has connected. Default: until each server is connected or has failed.
   */
  readonly waitMs?: number | undefined;
  /**
   * Stores the tools of servers: `fileCatalogue(…)`. With it, a server whose tools are stored offers them at once, and
   * starts when one of them is called, or with `McpServers.ready`. Default: every server starts at once.
   */
  readonly catalogue?: CatalogueStore | undefined;
  /**
   * Stores what results look like of tools that declare no type for them: `fileShapes(…)`. Default: in memory, for the
   * life of the servers.
   */
  readonly resultShapes?: ShapeStore | undefined;
  /**
   * `destinations`: arguments such as `to`, `url` and `path` of tools with effects need the decision of a user if
   * untrusted text may have chosen them; see `guardDestinations` of `@toolscript/core`. Default: no argument is guarded.
   */
  readonly flow?: 'destinations' | undefined;
  /** Ends the connections when the signal aborts, even while they are being opened. */
  readonly signal?: AbortSignal | undefined;
  /** Maximum time for one server to start and answer, in ms. Default 30 000. */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * Maximum time for one call, in ms; progress restarts the time. The limits of the harness apply too. Default 600 000.
   */
  readonly callTimeoutMs?: number | undefined;
  readonly reconnect?: ReconnectOptions | undefined;
  /**
   * Returns the login provider for a remote server: `oauthFile(…)`, or another `OAuthClientProvider` of the MCP SDK.
   */
  readonly authProvider?: ((server: ServerToStart) => OAuthClientProvider | undefined) | undefined;
  /**
   * Returns the way to log in to a server, such as a command. The message about a server that refuses access has this
   * text.
   */
  readonly howToLogIn?: ((server: string) => string) | undefined;
  /** Returns the way to trust the tools of a server, such as a command. `notices` has this text. */
  readonly howToTrust?: ((server: string) => string) | undefined;
  /** The identity of this client for servers. */
  readonly clientInfo?: { readonly name: string; readonly version: string } | undefined;
  readonly onEvent?: ((event: McpEvent) => void) | undefined;
}

export type McpEvent =
  /** `problem`: the reason why the server is not connected, as a sentence for the user. */
  | { type: 'state'; server: string; state: ConnectionState; problem?: string | undefined }
  /** The tools for scripts have changed. */
  | { type: 'tools'; server: string; tools: readonly string[] }
  /** Tools are held back until the user trusts them. */
  | { type: 'untrusted'; server: string; tools: readonly UntrustedTool[] }
  /** A server's message for its operator. Untrusted text on one line. */
  | { type: 'log'; server: string; level: string; text: string };

/** The state of one server. */
export interface McpServerStatus {
  /** The name in the configuration. */
  readonly name: string;
  /** The NAMESPACE in `tools.mcp.NAMESPACE.TOOL`, as scripts write it. */
  readonly namespace: string;
  readonly state: ConnectionState;
  /** The reason why the server is not connected, as a sentence for the user. */
  readonly problem: string | undefined;
  readonly version: { readonly name: string; readonly version: string } | undefined;
  readonly protocolVersion: string | undefined;
  /** The features of the connected server besides tools: `tasks`, `resources`, `prompts`, or the name of an extension. */
  readonly supports: readonly string[];
  /** The names of the tools: `mcp.NAMESPACE.TOOL`. Scripts may write each part as an identifier. */
  readonly tools: readonly string[];
  /** Tools that cannot be used, with the reason. */
  readonly skipped: readonly SkippedTool[];
  /** Tools with constraints that only the server checks, such as a part of a schema that is not valid JSON Schema. */
  readonly notes: readonly ToolNotes[];
  /** Tools that are held back until the user trusts them. */
  readonly untrusted: readonly UntrustedTool[];
  /** The reason why the list of tools is incomplete. */
  readonly incomplete: string | undefined;
}

/** Which reasons for missing tools are of use. */
export interface NoticeOptions {
  /**
   * Whether a search found nothing, or a script named an unknown tool: it may be a new tool of a server that still
   * connects. Default false.
   */
  readonly nothingFound?: boolean | undefined;
}

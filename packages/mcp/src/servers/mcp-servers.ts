import { setTimeout as sleep } from 'node:timers/promises';
import { ToolscriptUsageError, type Harness, type ImagePart, type Tool } from '@toolscript/core';
import { readMcpConfig, type FailedConfig, type ServerConfig } from '../configuration/server-config.js';
import { thrownMessage } from '../connection/readable.js';
import { IDENTITY } from '../identity.js';
import { credentialsProvider } from '../login/client-credentials.js';
import { resourceTools } from '../resources/resource-tools.js';
import { ImageCache } from '../tools/image-cache.js';
import { scriptNames } from '../tools/script-names.js';
import { memoryTrustStore } from '../trust/trust-store.js';
import type { UntrustedTool } from '../trust/review.js';
import { McpServer } from './mcp-server.js';
import type { McpEvent, McpOptions, McpServerStatus, NoticeOptions } from './options.js';
import { serverNotices, whyMissing } from './server-notices.js';

/** A harness whose tools can change. */
export type AttachableHarness = Pick<Harness, 'tools'>;

/** The MCP servers of a configuration. */
export interface McpServers {
  /**
   * Adds the tools of all servers to a harness, and updates them after every change. Models read why a tool is missing,
   * as with `notices`. Returns a function that removes the tools. Several harnesses may be attached.
   */
  attach(harness: AttachableHarness): () => void;
  /** One entry for each server that the configuration names and does not disable. */
  status(): readonly McpServerStatus[];
  /**
   * A sentence for each reason why tools are missing: a server that still connects or has failed, tools that the user
   * has not trusted, and tools that could not be read. For models, as with the option `notices` of `createGateway`.
   */
  notices(options?: NoticeOptions): readonly string[];
  /**
   * Starts the servers whose tools are known from an earlier connection, and waits for those whose tools are not known,
   * at most `waitMs`, in ms. For a host that has waited for nothing, before it needs the tools.
   */
  ready(waitMs: number): Promise<void>;
  /**
   * Trusts held-back tools in the versions that `status` or an event has shown, and makes these tools available. A tool
   * that the server has changed in the meantime stays held back.
   */
  trust(server: string, tools: readonly UntrustedTool[]): Promise<void>;
  /**
   * Completes the login to a remote server whose `authProvider` has shown a page to the user, and connects. `address`:
   * the address to which the browser was redirected. Rejects if the login failed, or if `address` does not belong to
   * the requested login.
   */
  finishLogin(server: string, address: string | URL): Promise<void>;
  /**
   * Resolves with the version of a resource when it is not `after`; without `after`, as soon as changes of the resource
   * are announced: first watch, then read, then wait, so that no change is missed. Rejects when the signal aborts, or
   * if the server does not announce changes. When a connection is lost, its resources count as changed.
   */
  watchResource(
    server: string,
    uri: string,
    options: { readonly after?: number | undefined; readonly signal: AbortSignal },
  ): Promise<number>;
  /** Reconnects a failed server at once. Resolves even if the connection fails; see `status`. */
  reconnect(server: string): Promise<void>;
  /**
   * The bytes of an image that a tool returned, for the input of a model. Rejects if the image is no longer in the
   * cache.
   */
  loadImage(image: ImagePart): Promise<{ bytes: Uint8Array }>;
  /** Removes the tools and ends every server. A repeated call does nothing. */
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 30_000;
const CALL_TIMEOUT_MS = 600_000;
const MAX_IMAGE_CACHE_BYTES = 32 * 1024 * 1024;

/**
 * Connects to the servers of an `mcpServers` configuration, all at the same time. Resolves when each of them has
 * answered, failed, or timed out. `status` and `onEvent` report failed servers, and the others work. Rejects with a
 * `ToolscriptUsageError` if the configuration as a whole cannot be read.
 */
export async function connectMcpServers(config: unknown, options: McpOptions = {}): Promise<McpServers> {
  const { servers, failed } = readMcpConfig(config, options);
  const connected = new ConnectedServers(servers, failed, options);
  await connected.start();
  return connected;
}

class ConnectedServers implements McpServers {
  readonly #servers = new Map<string, McpServer>();
  readonly #failedConfigs: readonly FailedConfig[];
  readonly #options: McpOptions;
  readonly #attachments = new Set<Attachment>();
  readonly #images = new ImageCache(MAX_IMAGE_CACHE_BYTES);
  readonly #resourceTools: readonly Tool[];
  #closing: Promise<void> | undefined;

  constructor(configs: readonly ServerConfig[], failed: readonly FailedConfig[], options: McpOptions) {
    this.#failedConfigs = failed;
    this.#options = options;
    const namespaces = scriptNames(configs.map(({ name }) => name));
    const trust = {
      store: options.trustStore ?? memoryTrustStore(),
      firstUse: options.firstUse ?? 'trust',
      onTrust: options.onTrust,
    };
    for (const config of configs)
      this.#servers.set(
        config.name,
        new McpServer(config, {
          namespace: namespaces.get(config.name)!,
          connection: connectionOptions(config, options),
          trust,
          images: this.#images,
          catalogue: options.catalogue,
          resultShapes: options.resultShapes,
          flow: options.flow,
          emit: (event) => this.#emit(event),
          onTools: () => this.#toolsChanged(config.name),
        }),
      );
    this.#resourceTools = options.resources === false ? [] : resourceTools(this.#servers);
  }

  async start(): Promise<void> {
    for (const { name, problem } of this.#failedConfigs)
      this.#emit({ type: 'state', server: name, state: 'failed', problem });
    const { waitMs, signal } = this.#options;
    signal?.addEventListener('abort', () => void this.close(), { once: true });
    if (signal?.aborted === true) await this.close();
    const servers = [...this.#servers.values()];
    const isKnown = await Promise.all(servers.map((server) => server.offerStored()));
    await connected(
      servers.filter((_, index) => !isKnown[index]),
      waitMs,
    );
  }

  async ready(waitMs: number): Promise<void> {
    const servers = [...this.#servers.values()];
    for (const { connection } of servers) if (connection.state === 'idle') void connection.start();
    await connected(
      servers.filter(({ tools, connection: { state } }) => state === 'connecting' && tools.length === 0),
      waitMs,
    );
  }

  attach(harness: AttachableHarness): () => void {
    const attachment = new Attachment(harness, (name) => whyMissing(name, this.status(), this.#options.howToTrust));
    attachment.update(this.#tools());
    this.#attachments.add(attachment);
    return () => {
      if (this.#attachments.delete(attachment)) attachment.end();
    };
  }

  status(): readonly McpServerStatus[] {
    return [
      ...[...this.#servers.values()].map((server) => server.status()),
      ...this.#failedConfigs.map(failedServerStatus),
    ];
  }

  notices({ nothingFound }: NoticeOptions = {}): readonly string[] {
    return serverNotices(this.status(), this.#options.howToTrust, nothingFound);
  }

  async watchResource(
    server: string,
    uri: string,
    { after, signal }: { readonly after?: number | undefined; readonly signal: AbortSignal },
  ): Promise<number> {
    return this.#find(server).resources.version(uri, after, signal);
  }

  async trust(server: string, tools: readonly UntrustedTool[]): Promise<void> {
    await this.#find(server).trust(tools);
  }

  async finishLogin(server: string, address: string | URL): Promise<void> {
    await this.#find(server).finishLogin(address);
  }

  async reconnect(server: string): Promise<void> {
    await this.#find(server).connection.reconnect();
  }

  loadImage(image: ImagePart): Promise<{ bytes: Uint8Array }> {
    return this.#images.load(image);
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    for (const attachment of this.#attachments) attachment.end();
    this.#attachments.clear();
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }

  #tools(): readonly Tool[] {
    const servers = [...this.#servers.values()];
    const forResources = servers.some(({ hasResources }) => hasResources) ? this.#resourceTools : [];
    return [...forResources, ...servers.flatMap(({ tools }) => tools)];
  }

  /** Gives the new tools to each harness. Detaches a harness that is closed or has another tool with the same name. */
  #toolsChanged(server: string): void {
    for (const attachment of this.#attachments) {
      try {
        attachment.update(this.#tools());
      } catch (error) {
        this.#attachments.delete(attachment);
        this.#emit({
          type: 'log',
          server,
          level: 'error',
          text: `A harness refused the new tools: ${thrownMessage(error)} Toolscript detached the harness. Remove the cause, and attach the harness again.`,
        });
      }
    }
  }

  #find(server: string): McpServer {
    const found = this.#servers.get(server);
    if (found !== undefined) return found;
    throw new ToolscriptUsageError('UNKNOWN_MCP_SERVER', {
      server,
      known: [...this.#servers.keys()].join(', ') || 'none',
    });
  }

  /** Emits an event. Ignores an error of the listener, which must not end a connection. */
  #emit(event: McpEvent): void {
    try {
      this.#options.onEvent?.(event);
    } catch {
      // The listener's error is a mistake of the host.
    }
  }
}

/** Starts servers, and resolves when each has connected or failed, or after `waitMs`. */
async function connected(servers: readonly McpServer[], waitMs: number | undefined): Promise<void> {
  const started = Promise.all(servers.map(({ connection }) => connection.start()));
  const end = new AbortController();
  const late = waitMs === undefined ? started : sleep(waitMs, undefined, { ref: false, signal: end.signal });
  await Promise.race([started, late]);
  late.catch(() => {});
  end.abort();
}

function connectionOptions(config: ServerConfig, options: McpOptions) {
  const { onElicitation, onSampling, roots, reconnect = {}, clientInfo = IDENTITY } = options;
  return {
    handlers: {
      ...(onElicitation === undefined ? {} : { onElicitation }),
      ...(onSampling === undefined ? {} : { onSampling }),
      // defence: mcp-folders-are-shared-by-choice
      ...(roots === undefined || !config.roots ? {} : { roots }),
    },
    authProvider: credentialsProvider(config) ?? options.authProvider?.(config),
    clientInfo,
    howToLogIn: options.howToLogIn?.(config.name),
    connectTimeoutMs: config.connectTimeoutMs ?? options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    callTimeoutMs: config.callTimeoutMs ?? options.callTimeoutMs ?? CALL_TIMEOUT_MS,
    reconnect,
  };
}

function failedServerStatus({ name, problem }: FailedConfig): McpServerStatus {
  return {
    name,
    namespace: name,
    state: 'failed',
    problem,
    version: undefined,
    protocolVersion: undefined,
    supports: [],
    tools: [],
    skipped: [],
    notes: [],
    untrusted: [],
    incomplete: undefined,
  };
}

/** The tools that one harness received. */
class Attachment {
  readonly #harness: AttachableHarness;
  readonly #removeExplanation: () => void;
  #givenTools: readonly Tool[] = [];

  constructor(harness: AttachableHarness, explain: (name: string) => string | undefined) {
    this.#harness = harness;
    this.#removeExplanation = harness.tools.explain(explain);
  }

  /** Replaces the tools. Does nothing if they are the same. */
  update(tools: readonly Tool[]): void {
    const before = new Set(this.#givenTools);
    if (tools.length === before.size && tools.every((tool) => before.has(tool))) return;
    this.#harness.tools.replace(
      this.#givenTools.map(({ name }) => name),
      tools,
    );
    this.#givenTools = tools;
  }

  /** Removes the tools; a closed harness has none. */
  end(): void {
    this.#removeExplanation();
    try {
      this.update([]);
    } catch {
      this.#givenTools = [];
    }
  }
}

import type { Tool } from '@toolscript/core';
import type { ServerConfig } from '../configuration/server-config.js';
import {
  ServerConnection,
  type ConnectionListener,
  type ConnectionOptions,
  type ListedTools,
  type ToolConnection,
} from '../connection/connection.js';
import { oneLine, thrownMessage } from '../connection/readable.js';
import { finishLogin } from '../login/finish-login.js';
import { OpenApiConnection } from '../openapi/openapi-connection.js';
import { readDefinitions, type SkippedTool, type ToolDefinition, type ToolNotes } from '../tools/definition.js';
import type { ImageCache } from '../tools/image-cache.js';
import { ResourceWatch } from '../resources/resource-watch.js';
import { serverTools } from '../tools/server-tools.js';
import { TrustReview, type TrustOptions, type UntrustedTool } from '../trust/review.js';
import type { CatalogueStore } from './catalogue.js';
import type { McpEvent, McpServerStatus } from './options.js';
import { ServerShapes, type ShapeStore } from './result-shapes.js';

export interface McpServerOptions {
  readonly namespace: string;
  readonly connection: ConnectionOptions;
  readonly trust: TrustOptions;
  readonly images: ImageCache;
  readonly catalogue: CatalogueStore | undefined;
  readonly resultShapes: ShapeStore | undefined;
  /** See `McpOptions`. */
  readonly flow: 'destinations' | undefined;
  readonly emit: (event: McpEvent) => void;
  /** Called when the tools for scripts have changed. */
  readonly onTools: () => void;
}

const MAX_LOG_TEXT = 500;

/** One server: its connection, the tools that it offers, the untrusted ones among them, and the tools for scripts. */
export class McpServer {
  readonly name: string;
  readonly connection: ToolConnection;
  readonly resources: ResourceWatch;
  readonly #config: ServerConfig;
  readonly #options: McpServerOptions;
  readonly #review: TrustReview;
  readonly #shapes: ServerShapes;
  #offeredTools: readonly ToolDefinition[] = [];
  #listing: { skipped: readonly SkippedTool[]; notes: readonly ToolNotes[]; incomplete: string | undefined } = {
    skipped: [],
    notes: [],
    incomplete: undefined,
  };
  #untrustedTools: readonly UntrustedTool[] = [];
  #hasResources = false;
  #storing: Promise<void> | undefined;
  /** The newest list, once its tools are published. */
  #taken: Promise<void> = Promise.resolve();
  #madeTools: Awaited<ReturnType<typeof serverTools>> = { tools: [], skipped: [], notes: [] };
  /** The number of publications, and the newest that is complete. */
  #publications = 0;
  #published = 0;

  constructor(config: ServerConfig, options: McpServerOptions) {
    this.name = config.name;
    this.#config = config;
    this.#options = options;
    this.#review = new TrustReview(config, options.trust);
    this.#shapes = new ServerShapes({
      server: config,
      store: options.resultShapes,
      onProblem: (error) => this.#log(error),
    });
    this.resources = new ResourceWatch(config.name, () => this.connection);
    this.connection = connectionTo(config, options.connection, {
      onTools: async (listed) => {
        await this.#take(listed);
        this.#storing = this.#store(listed);
      },
      onState: (state, problem) => {
        if (state !== 'connected') this.resources.lost();
        options.emit({ type: 'state', server: config.name, state, ...(problem === undefined ? {} : { problem }) });
      },
      onResource: (uri) => this.resources.changed(uri),
      onLog: (level, text) => options.emit({ type: 'log', server: config.name, level, text }),
    });
  }

  get tools(): readonly Tool[] {
    return this.#madeTools.tools;
  }

  /** Whether the server declares resources, or declared them on an earlier connection. */
  get hasResources(): boolean {
    return this.#hasResources;
  }

  /** Offers the tools that the server listed last, before it starts. Returns whether any are known. */
  async offerStored(): Promise<boolean> {
    const stored = await this.#options.catalogue?.read(this.#config).catch((error: unknown) => this.#log(error));
    if (stored !== undefined) await this.#take(stored);
    return stored !== undefined;
  }

  /** Completes a login, and connects. `address`: the address to which the browser was redirected. */
  async finishLogin(address: string | URL): Promise<void> {
    await finishLogin(this.#config, this.#options.connection.authProvider, address);
    await this.connection.reconnect();
  }

  /** Ends the connection. Resolves when the tools of the server, and what their results look like, are stored. */
  async close(): Promise<void> {
    await this.connection.close();
    await Promise.all([this.#storing, this.#shapes.stored()]);
  }

  /** Trusts tools that were held back, if they have not changed since the user saw them. */
  async trust(seen: readonly UntrustedTool[]): Promise<void> {
    await this.#review.accept(this.#offeredTools, seen);
    await this.#offer();
  }

  status(): McpServerStatus {
    const { state, problem, version, protocolVersion, supports } = this.connection;
    return {
      name: this.name,
      namespace: this.#options.namespace,
      state,
      problem,
      version: version && { name: version.name, version: version.version },
      protocolVersion,
      supports: supports.map((name) => oneLine(name, MAX_LOG_TEXT)),
      tools: this.tools.map(({ name }) => name),
      skipped: [...this.#listing.skipped, ...this.#madeTools.skipped],
      notes: [...this.#listing.notes, ...this.#madeTools.notes],
      untrusted: this.#untrustedTools,
      incomplete: this.#listing.incomplete,
    };
  }

  async #store(listed: ListedTools): Promise<void> {
    await this.#options.catalogue?.write(this.#config, listed).catch((error: unknown) => this.#log(error));
  }

  #log(error: unknown): undefined {
    const text = oneLine(thrownMessage(error), MAX_LOG_TEXT);
    this.#options.emit({ type: 'log', server: this.name, level: 'warning', text });
  }

  /** Takes one list after the other, so that the newest one stays. */
  #take(listed: ListedTools): Promise<void> {
    this.#taken = this.#taken.catch(() => {}).then(() => this.#read(listed));
    return this.#taken;
  }

  async #read({ items, incomplete, skipped: unread = [], notes = [], hasResources }: ListedTools): Promise<void> {
    await this.#shapes.load();
    const { tools, skipped } = await readDefinitions(items);
    this.#hasResources ||= hasResources === true;
    this.#offeredTools = tools;
    this.#listing = { skipped: [...unread, ...skipped], notes, incomplete };
    await this.#offer();
  }

  /** Publishes the trusted tools. Removes new and changed tools before the user is asked about them. */
  async #offer(): Promise<void> {
    const offered = this.#offeredTools;
    const reviewed = await this.#review.review(offered);
    await this.#publish(reviewed.trusted, reviewed.untrusted);
    if (reviewed.untrusted.length === 0 || !(await this.#review.ask(reviewed))) return;
    await this.#review.accept(offered, reviewed.untrusted);
    await this.#publish(offered, []);
  }

  async #publish(trusted: readonly ToolDefinition[], untrusted: readonly UntrustedTool[]): Promise<void> {
    const number = (this.#publications += 1);
    const made = await serverTools(trusted, {
      config: this.#config,
      namespace: this.#options.namespace,
      call: (definition, input, options) => this.connection.callTool(definition, input, options),
      images: this.#options.images,
      shapes: (definition) => this.#shapes.of(definition),
      flow: this.#options.flow,
    });
    // A newer publication is complete already.
    if (number < this.#published) return;
    this.#published = number;
    this.#untrustedTools = untrusted;
    this.#madeTools = made;
    const { emit, onTools } = this.#options;
    onTools();
    if (untrusted.length > 0) emit({ type: 'untrusted', server: this.name, tools: untrusted });
    emit({ type: 'tools', server: this.name, tools: this.tools.map(({ name }) => name) });
  }
}

function connectionTo(config: ServerConfig, options: ConnectionOptions, listener: ConnectionListener): ToolConnection {
  const { transport } = config;
  return transport.type === 'openapi'
    ? new OpenApiConnection({ ...config, transport }, options, listener)
    : new ServerConnection({ ...config, transport }, options, listener);
}

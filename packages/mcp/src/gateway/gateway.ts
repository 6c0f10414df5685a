import {
  createMcpHandler,
  createRequestStateCodec,
  type McpRequestContext,
  type McpServer,
  type RegisteredTool,
  type RequestStateCodec,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { randomBytes } from 'node:crypto';
import { IDENTITY } from '../identity.js';
import { callerIn, LOCAL_CALLER, requestOptions, type GatewayCaller } from './caller.js';
import { registerCatalogTools } from './catalog-tools.js';
import { followRoots } from './client-roots.js';
import { registerResources } from './declaration-resources.js';
import { currentOffer, type GatewayOffer } from './descriptions.js';
import { HttpSessions, type LastingServer, type OnSession } from './http-sessions.js';
import { PastScripts } from './past-scripts.js';
import { TASK_CAPABILITIES } from './script-tasks.js';
import { registerScriptTools } from './script-tools.js';
import type { GatewayOptions, GatewayServices, PendingState } from './services.js';
import { TaskServer } from './task-server.js';

/** A harness as an MCP server for any number of clients. */
export interface Gateway {
  /**
   * Makes the server for one connection or request. The SDK's `serveStdio` and `createMcpHandler` accept this factory.
   */
  readonly server: (context?: Partial<McpRequestContext>) => McpServer;
  /**
   * Serves the client at the other end of this process's standard input and output. The `close` of the result deletes
   * the variables of the gateway's sessions.
   */
  serveStdio(): { close(): Promise<void> };
  /** Serves clients over Streamable HTTP. The caller must check the token, Host and Origin of each request first. */
  serveHttp(): GatewayHttp;
  /**
   * Shows the current tools to clients, and notifies connected ones if the list has changed. Returns what clients are
   * shown from now on.
   */
  refresh(): GatewayOffer;
}

export interface GatewayHttp {
  /**
   * `caller`: by default, the user of this machine, who may do everything. `body`: the request's body as parsed JSON.
   * `onSession` learns of each session that begins. Without `body`, clients of protocols before 2026-07-28 get no
   * session, so the gateway cannot ask their users.
   */
  fetch(
    request: Request,
    options?: { caller?: GatewayCaller | undefined; body?: unknown; onSession?: OnSession | undefined },
  ): Promise<Response>;
  /** Ends open requests and streams, and deletes the variables of the gateway's sessions. */
  close(): Promise<void>;
}

/** Maximum time for a user to answer, in seconds. */
const STATE_LIFE_SECONDS = 24 * 3_600;

/**
 * Offers `run_script`, `search_tools`, `describe_tools`, `resume_script`, `wait_script` and `cancel_script` for the tools of the harness. The
 * description of `run_script` and the instructions are about the tools at the time of this call, or of the last
 * `refresh`; `search_tools` finds all tools.
 */
export function createGateway(options: GatewayOptions): Gateway {
  const gateway = new HarnessGateway(options);
  return Object.freeze({
    server: (context: Partial<McpRequestContext> = {}) => gateway.open(callerIn(context)).made,
    serveStdio: () => gateway.serveStdio(),
    serveHttp: () => gateway.serveHttp(),
    refresh: () => gateway.refresh(),
  });
}

class HarnessGateway {
  readonly #options: GatewayOptions;
  readonly #state: RequestStateCodec<PendingState>;
  /** The past scripts, by owner. */
  readonly #pasts = new Map<string | undefined, PastScripts>();
  /** These listeners are called with each new description of `run_script`. */
  readonly #listeners = new Set<(instructions: string) => void>();
  #offer: GatewayOffer;

  constructor(options: GatewayOptions) {
    const { stateKey = randomBytes(32) } = options;
    this.#options = options;
    this.#state = createRequestStateCodec<PendingState>({ key: stateKey, ttlSeconds: STATE_LIFE_SECONDS });
    this.#offer = options.offer ?? currentOffer(options.harness, this.#isComplete());
  }

  refresh(): GatewayOffer {
    const before = this.#offer;
    this.#offer = currentOffer(this.#options.harness, this.#isComplete());
    const { description } = this.#offer;
    if (description !== before.description) for (const listener of this.#listeners) listener(description);
    return this.#offer;
  }

  /** Whether no tools are missing. */
  #isComplete(): boolean {
    return (this.#options.notices?.() ?? []).length === 0;
  }

  /** A server for one request or connection of a caller. */
  open(caller: GatewayCaller): { made: McpServer; runScript: RegisteredTool | undefined } {
    const { serverInfo = IDENTITY } = this.#options;
    const services = this.#servicesFor(caller);
    const verify: RequestStateCodec<PendingState>['verify'] = (sealed, ctx) => this.#state.verify(sealed, ctx);
    const made = new TaskServer(serverInfo, {
      requestState: { verify },
      instructions: this.#offer.instructions,
      capabilities: services.mayRun ? TASK_CAPABILITIES : {},
    });
    const runScript = services.mayRun ? registerScriptTools(made, services) : undefined;
    registerCatalogTools(made, services);
    registerResources(made, services);
    return { made, runScript };
  }

  serveStdio(): { close(): Promise<void> } {
    const served = serveStdio(() => this.#openStdio());
    return {
      close: async () => {
        await served.close();
        await this.#endSessions();
      },
    };
  }

  #openStdio(): McpServer {
    const { made } = this.#openLasting(LOCAL_CALLER);
    followRoots(made, this.#options.onRoots);
    return made;
  }

  serveHttp(): GatewayHttp {
    const handler = createMcpHandler((context) => this.open(callerIn(context)).made);
    const sessions = new HttpSessions({ open: (caller) => this.#openLasting(caller) });
    const notify = () => handler.notify.toolsChanged();
    this.#listeners.add(notify);
    return {
      fetch: (request, { caller = LOCAL_CALLER, body, onSession } = {}) =>
        sessions.answer(request, { caller, body, onSession }) ?? handler.fetch(request, requestOptions(caller, body)),
      close: async () => {
        this.#listeners.delete(notify);
        await sessions.close();
        await handler.close();
        await this.#endSessions();
      },
    };
  }

  /** A server that announces changed tools until it is released. */
  #openLasting(caller: GatewayCaller): LastingServer {
    const { made, runScript } = this.open(caller);
    const update = (description: string) => runScript?.update({ description });
    this.#listeners.add(update);
    return { made, release: () => void this.#listeners.delete(update) };
  }

  /** The variables of clients end with the service. */
  async #endSessions(): Promise<void> {
    await Promise.all([...this.#pasts.values()].map(({ sessions }) => sessions.close()));
  }

  #servicesFor({ principal = this.#options.principal, ...caller }: GatewayCaller): GatewayServices {
    const endProgram = (threadId: string) => this.#options.harness.endProgram(threadId, { principal });
    const past = this.#pasts.get(principal) ?? new PastScripts(endProgram);
    this.#pasts.set(principal, past);
    return {
      ...this.#options,
      ...caller,
      ...(principal === undefined ? {} : { principal }),
      state: this.#state,
      past,
      offered: () => this.#offer,
    };
  }
}

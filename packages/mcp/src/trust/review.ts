import type { ServerConfig } from '../configuration/server-config.js';
import type { ToolDefinition } from '../tools/definition.js';
import { inTurns } from '../tools/in-turns.js';
import { serverFingerprint, toolFingerprint } from './fingerprint.js';
import type { TrustStore } from './trust-store.js';

/** A tool that scripts do not receive until the user trusts it. */
export interface UntrustedTool {
  /** The server's own name of the tool. */
  readonly name: string;
  /**
   * `changed`: its definition differs from the trusted one. `other-server`: the server's name now belongs to a program
   * or address that the user has not trusted.
   */
  readonly change: 'added' | 'changed' | 'other-server';
  readonly description: string;
  /** The rest of the tool's definition, which the user trusts as well. */
  readonly definition: Pick<ToolDefinition, 'title' | 'inputSchema' | 'outputSchema' | 'annotations' | 'uiResource'>;
  /** The hash of the whole definition. The user trusts this version, and no later one. */
  readonly fingerprint: string;
}

/** A question to the user. */
export interface TrustRequest {
  readonly server: string;
  /** `first`: no server of this name was trusted before. */
  readonly reason: 'first' | 'changed' | 'other-server';
  readonly tools: readonly UntrustedTool[];
}

export interface TrustOptions {
  readonly store: TrustStore;
  /** The treatment of a new server. */
  readonly firstUse: 'trust' | 'ask';
  readonly onTrust: ((request: TrustRequest) => boolean | Promise<boolean>) | undefined;
}

interface ReviewResult {
  readonly trusted: readonly ToolDefinition[];
  readonly untrusted: readonly UntrustedTool[];
  readonly reason: TrustRequest['reason'];
}

/** The user's trust in the program or address of a server. */
interface KnownTrust {
  readonly reason: TrustRequest['reason'];
  /** The trusted fingerprints, by the server's own name of the tool. */
  readonly tools: Readonly<Record<string, string>>;
}

/**
 * Compares the tools that a server offers with the tools that the user trusts. New and changed tools are held back
 * until the user accepts them; an unchanged tool is never held back because of a changed one.
 */
export class TrustReview {
  readonly #config: ServerConfig;
  readonly #options: TrustOptions;

  constructor(config: ServerConfig, options: TrustOptions) {
    this.#config = config;
    this.#options = options;
  }

  /**
   * Divides the offered tools into trusted and untrusted ones. On first use, all are trusted if the host allows that.
   */
  async review(offered: readonly ToolDefinition[]): Promise<ReviewResult> {
    const known = await this.#knownTrust();
    const { reason } = known;
    // A server that offers no tools does not count as known.
    if (offered.length === 0) return { trusted: [], untrusted: [], reason };
    for await (const tool of inTurns(offered)) toolFingerprint(tool);
    if (reason === 'first' && this.#options.firstUse === 'trust') {
      await this.#trust(offered);
      return { trusted: offered, untrusted: [], reason };
    }
    const untrusted = offered.flatMap((tool) => definitionChange(tool, known) ?? []);
    // defence: mcp-changes-ask-again
    const names = new Set(untrusted.map(({ name }) => name));
    return { trusted: offered.filter(({ name }) => !names.has(name)), untrusted, reason };
  }

  /** Asks the user about tools that are held back. */
  async ask({ untrusted, reason }: ReviewResult): Promise<boolean> {
    try {
      const answer = await this.#options.onTrust?.({ server: this.#config.name, reason, tools: untrusted });
      return answer === true;
    } catch {
      return false;
    }
  }

  /** Trusts the offered tools that have not changed since the user saw them. */
  async accept(offered: readonly ToolDefinition[], seen: readonly UntrustedTool[]): Promise<void> {
    const accepted = new Set(seen.map(({ fingerprint }) => fingerprint));
    // defence: mcp-trust-is-of-what-was-seen
    await this.#trust(offered.filter((tool) => accepted.has(toolFingerprint(tool))));
  }

  /** Stores trust in these definitions in addition to those that are already trusted. */
  async #trust(definitions: readonly ToolDefinition[]): Promise<void> {
    const server = serverFingerprint(this.#config);
    await this.#options.store.update(this.#config.name, (entries) => {
      const tools = new Map(Object.entries(entries.find((entry) => entry.server === server)?.tools ?? {}));
      for (const tool of definitions) tools.set(tool.name, toolFingerprint(tool));
      return [...entries.filter((entry) => entry.server !== server), { server, tools: Object.fromEntries(tools) }];
    });
  }

  async #knownTrust(): Promise<KnownTrust> {
    const entries = await this.#options.store.read(this.#config.name);
    // defence: mcp-trust-names-the-server
    const own = entries.find(({ server }) => server === serverFingerprint(this.#config));
    if (own !== undefined) return { reason: 'changed', tools: own.tools };
    // defence: mcp-other-server-asks
    return { reason: entries.length === 0 ? 'first' : 'other-server', tools: {} };
  }
}

function definitionChange(tool: ToolDefinition, { reason, tools }: KnownTrust): UntrustedTool | undefined {
  const { name, description = '', title, inputSchema, outputSchema, annotations, uiResource } = tool;
  const before = Object.hasOwn(tools, name) ? tools[name] : undefined;
  const fingerprint = toolFingerprint(tool);
  if (before === fingerprint) return undefined;
  const change = reason === 'other-server' ? reason : before === undefined ? 'added' : 'changed';
  const definition = { title, inputSchema, outputSchema, annotations, uiResource };
  return { name, change, description, definition, fingerprint };
}

import type { ServerConfig } from '../configuration/server-config.js';
import type { ToolDefinition } from '../tools/definition.js';
import { serverFingerprint, toolFingerprint } from './fingerprint.js';
import type { TrustEntry, TrustStore } from './trust-store.js';

/** A tool that scripts do not receive until the user trusts it. */
export interface UntrustedTool {
  /** The server's own name of it. */
  readonly name: string;
  /** `changed`: its description or schema differs from the trusted one. */
  readonly change: 'added' | 'changed';
  readonly description: string;
  /** The rest of its definition, which the user trusts as well. */
  readonly definition: Pick<ToolDefinition, 'title' | 'inputSchema' | 'outputSchema' | 'annotations'>;
  /** The hash of the whole definition. The user trusts this version, and no later one. */
  readonly fingerprint: string;
}

/** A question to the user. */
export interface TrustRequest {
  readonly server: string;
  /** `first`: no tool of this server was trusted before. */
  readonly reason: 'first' | 'changed';
  readonly tools: readonly UntrustedTool[];
}

export interface TrustOptions {
  readonly store: TrustStore;
  /** How a new server is treated. */
  readonly firstUse: 'trust' | 'ask';
  readonly onTrust: ((request: TrustRequest) => boolean | Promise<boolean>) | undefined;
}

interface Reviewed {
  readonly trusted: readonly ToolDefinition[];
  readonly untrusted: readonly UntrustedTool[];
  /** No tool of this server was trusted before. */
  readonly isFirst: boolean;
}

/**
 * Compares a server's offers with the user's trust. New and changed tools are held back until the user accepts them;
 * an unchanged tool is never held back because of another one.
 */
export class TrustReview {
  readonly #config: ServerConfig;
  readonly #options: TrustOptions;

  constructor(config: ServerConfig, options: TrustOptions) {
    this.#config = config;
    this.#options = options;
  }

  /** On first use, everything is trusted if the host allows that. */
  async review(offered: readonly ToolDefinition[]): Promise<Reviewed> {
    const known = await this.#known();
    // A server without offers does not count as seen.
    if (offered.length === 0) return { trusted: [], untrusted: [], isFirst: known === undefined };
    if (known === undefined && this.#options.firstUse === 'trust') {
      await this.#trust(offered);
      return { trusted: offered, untrusted: [], isFirst: true };
    }
    const untrusted = offered.flatMap((tool) => changeOf(tool, known) ?? []);
    // defence: mcp-changes-ask-again, without it: const names = new Set<string>();
    const names = new Set(untrusted.map(({ name }) => name));
    return { trusted: offered.filter(({ name }) => !names.has(name)), untrusted, isFirst: known === undefined };
  }

  /** Asks the user about tools that are held back. */
  async ask({ untrusted, isFirst }: Reviewed): Promise<boolean> {
    const reason = isFirst ? 'first' : 'changed';
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
    // defence: mcp-trust-is-of-what-was-seen, without it: await this.#trust(offered);
    await this.#trust(offered.filter((tool) => accepted.has(toolFingerprint(tool))));
  }

  /** In addition to the tools that were trusted before. */
  async #trust(definitions: readonly ToolDefinition[]): Promise<void> {
    await this.#options.store.update(this.#config.name, (entry) => {
      const tools = new Map(Object.entries(this.#toolsOf(entry) ?? {}));
      for (const tool of definitions) tools.set(tool.name, toolFingerprint(tool));
      return { server: serverFingerprint(this.#config), tools: Object.fromEntries(tools) };
    });
  }

  /** The trusted fingerprints, by the server's own names; undefined if the server is unknown. */
  async #known(): Promise<Readonly<Record<string, string>> | undefined> {
    return this.#toolsOf(await this.#options.store.read(this.#config.name));
  }

  #toolsOf(entry: TrustEntry | undefined): Readonly<Record<string, string>> | undefined {
    // defence: mcp-trust-names-the-server, without it: return entry?.tools;
    return entry === undefined || entry.server !== serverFingerprint(this.#config) ? undefined : entry.tools;
  }
}

function changeOf(
  tool: ToolDefinition,
  known: Readonly<Record<string, string>> | undefined,
): UntrustedTool | undefined {
  const { name, description = '', title, inputSchema, outputSchema, annotations } = tool;
  const before = known !== undefined && Object.hasOwn(known, name) ? known[name] : undefined;
  const fingerprint = toolFingerprint(tool);
  if (before === fingerprint) return undefined;
  const definition = { title, inputSchema, outputSchema, annotations };
  return { name, change: before === undefined ? 'added' : 'changed', description, definition, fingerprint };
}

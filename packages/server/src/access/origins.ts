import { ToolscriptUsageError } from '@toolscript/core/protocol';
import { hostOfAddress, parseHost } from './addresses.js';

/** Names that mean this machine, regardless of DNS. */
const LOCAL_HOSTS = ['127.0.0.1', 'localhost', '[::1]'];

export interface OriginOptions {
  /** Names of the server, in addition to those of this machine, such as `tools.example.com`. */
  readonly hosts?: readonly string[] | undefined;
  /** Origins of pages that may call the server, in addition to its own, such as `https://app.example.com`. */
  readonly origins?: readonly string[] | undefined;
}

/**
 * The Host and Origin headers that the server accepts. A page that reaches this server through DNS rebinding sends its
 * own name as the host. So the server accepts only the names of this machine, the configured hosts, and the address at
 * which the connection has arrived.
 */
export class KnownOrigins {
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;

  /** Throws a `ToolscriptUsageError` for an invalid origin, and for a host that is invalid or has a port. */
  constructor({ hosts = [], origins = [] }: OriginOptions) {
    this.#hosts = new Set([...LOCAL_HOSTS, ...hosts.map(checkedHost)]);
    this.#origins = new Set(origins.map(checkedOrigin));
  }

  /** `localAddress`: the address at which the connection arrived. */
  knowsHost(host: string | undefined, localAddress: string | undefined): boolean {
    const name = parseHost(host ?? '')?.name;
    if (name === undefined) return false;
    // defence: host-is-known
    return this.#hosts.has(name) || name === hostOfAddress(localAddress ?? '');
  }

  /** Whether the origin is configured, or is the server's own. `host` is a host that `knowsHost` accepts. */
  knowsOrigin(origin: string, host: string): boolean {
    // defence: origin-is-known
    return this.isConfigured(origin) || isSamePage(origin, host);
  }

  /** Whether the option `origins` contains this origin, so that its pages may read the answers. */
  isConfigured(origin: string): boolean {
    return this.#origins.has(origin.toLowerCase());
  }
}

/** Compares the host and the port. Ignores the scheme, because a proxy in front of the server may use https. */
function isSamePage(origin: string, host: string): boolean {
  const [, scheme, rest = ''] = /^(https?):\/\/(.*)$/iu.exec(origin) ?? [];
  const [one, other] = [parseHost(rest), parseHost(host)];
  if (scheme === undefined || one === undefined || other === undefined) return false;
  const usual = scheme.toLowerCase() === 'https' ? '443' : '80';
  return one.name === other.name && (one.port ?? usual) === (other.port ?? usual);
}

function checkedHost(host: string): string {
  const parsed = parseHost(host);
  if (parsed !== undefined && parsed.port === undefined) return parsed.name;
  throw new ToolscriptUsageError('HOST_INVALID', { host: JSON.stringify(host) });
}

function checkedOrigin(origin: string): string {
  const host = /^https?:\/\/(?<host>.*)$/iu.exec(origin)?.groups?.['host'];
  const isHost = host !== undefined && parseHost(host) !== undefined;
  if (isHost && new URL(origin).origin === origin.toLowerCase()) return origin.toLowerCase();
  throw new ToolscriptUsageError('ORIGIN_INVALID', { origin: JSON.stringify(origin) });
}

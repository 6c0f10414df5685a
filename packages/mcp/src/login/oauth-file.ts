import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { PrivateJsonFile } from '@toolscript/core/internal';
import type { ServerToStart } from '../configuration/server-config.js';
import { serverFingerprint } from '../trust/fingerprint.js';

export interface OAuthFileOptions {
  /**
   * The path of a JSON file that only its owner can read and write (0600). The file has the registrations and tokens by
   * the address of the server, so that a server of the same name at another address gets none of them.
   */
  readonly path: string;
  /** The redirect address after the login, such as `http://127.0.0.1:PORT/callback`. */
  readonly redirectUrl: string;
  /**
   * Shows the login page to the user. The host then calls `finishLogin` with the address to which the browser was
   * redirected. The page is at an http or https address.
   */
  readonly onRedirect: (server: string, page: URL) => void | Promise<void>;
  /** Discards the stored login of a server at first use. Default false. */
  readonly startsOver?: boolean | undefined;
  /**
   * The address of a document that describes this program to login services, with https. A login service that accepts
   * such addresses needs no registration. The document has the `redirectUrl`. Default: every login service registers
   * this program.
   */
  readonly clientMetadataUrl?: string | undefined;
  /** The name of this program on the login page. Default 'Toolscript'. */
  readonly clientName?: string | undefined;
}

/** A login provider that can verify whether a redirect belongs to the login that it requested. */
export interface LoginProvider extends OAuthClientProvider {
  isOwnState(state: string | null): Promise<boolean>;
}

/** The stored data of one server. The SDK checks this data after each read. */
interface Login {
  client?: StoredOAuthClientInformation | undefined;
  tokens?: StoredOAuthTokens | undefined;
  verifier?: string | undefined;
  discovery?: OAuthDiscoveryState | undefined;
  state?: string | undefined;
}

type ChangedLogin = { [Member in keyof Login]: Login[Member] | undefined };

const LoginSchema = z.strictObject({
  /** The fingerprint of the server. */
  server: z.string(),
  client: z.looseObject({}).optional(),
  tokens: z.looseObject({}).optional(),
  verifier: z.string().optional(),
  discovery: z.looseObject({}).optional(),
  state: z.string().optional(),
});
const FileSchema = z.strictObject({ version: z.literal(1), logins: z.array(LoginSchema) });

/** Makes an `authProvider` for `connectMcpServers` that stores the logins to remote servers in a file. */
export function oauthFile(options: OAuthFileOptions): (server: ServerToStart) => LoginProvider {
  const file = openFile(options.path);
  return (server) => new FileLogin(server, options, file);
}

/** The servers that the user has logged in to, according to the file of `oauthFile`. */
export async function serversWithLogin(path: string): Promise<{ has(server: ServerToStart): boolean }> {
  const { logins } = await openFile(path).read();
  const fingerprints = new Set(logins.filter(({ tokens }) => tokens !== undefined).map(({ server }) => server));
  return { has: (server) => fingerprints.has(serverFingerprint(server)) };
}

function openFile(path: string): PrivateJsonFile<typeof FileSchema> {
  return new PrivateJsonFile(path, {
    schema: FileSchema,
    empty: { version: 1, logins: [] },
    advice: 'Delete it to log in again.',
  });
}

function isSameAddress(one: string | undefined, other: string): boolean {
  return one?.replace(/\/$/u, '') === other.replace(/\/$/u, '');
}

class FileLogin implements LoginProvider {
  readonly redirectUrl: string;
  readonly clientMetadataUrl?: string;
  readonly clientMetadata: OAuthClientMetadata;
  readonly #name: string;
  readonly #server: string;
  /** The login service that the user has named. */
  readonly #issuer: string | undefined;
  readonly #ready: Promise<void>;
  readonly #onRedirect: OAuthFileOptions['onRedirect'];
  readonly #file: PrivateJsonFile<typeof FileSchema>;
  /** The access token that this process read last. */
  #usedToken: string | undefined;

  constructor(
    server: ServerToStart,
    { redirectUrl, onRedirect, startsOver = false, clientMetadataUrl, clientName = 'Toolscript' }: OAuthFileOptions,
    file: PrivateJsonFile<typeof FileSchema>,
  ) {
    this.#name = server.name;
    // defence: mcp-logins-belong-to-their-address
    this.#server = serverFingerprint(server);
    this.#issuer = 'login' in server.transport ? server.transport.login?.issuer : undefined;
    this.#onRedirect = onRedirect;
    this.#file = file;
    this.#ready = startsOver ? this.#update(() => ({})) : Promise.resolve();
    this.#ready.catch(() => {});
    this.redirectUrl = redirectUrl;
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl;
    this.clientMetadata = {
      client_name: clientName,
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  async clientInformation(): Promise<StoredOAuthClientInformation | undefined> {
    return (await this.#read()).client;
  }

  saveClientInformation(client: StoredOAuthClientInformation): Promise<void> {
    return this.#save({ client });
  }

  async tokens(): Promise<StoredOAuthTokens | undefined> {
    const { tokens } = await this.#read();
    this.#usedToken = tokens?.access_token;
    return tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    // A server may name another login service later, so the next login asks it again.
    return this.#save({ tokens, verifier: undefined, state: undefined, discovery: undefined });
  }

  async redirectToAuthorization(page: URL): Promise<void> {
    // defence: mcp-login-pages-are-web-pages
    if (!['http:', 'https:'].includes(page.protocol))
      throw new Error(
        `the server names a login page at a ${page.protocol} address, and it is not shown; ask the operator of the server`,
      );
    await this.#onRedirect(this.#name, page);
  }

  saveCodeVerifier(verifier: string): Promise<void> {
    return this.#save({ verifier });
  }

  async codeVerifier(): Promise<string> {
    return (await this.#read()).verifier ?? '';
  }

  saveDiscoveryState(discovery: OAuthDiscoveryState): Promise<void> {
    return this.#save({ discovery });
  }

  async discoveryState(): Promise<OAuthDiscoveryState | undefined> {
    const { discovery } = await this.#read();
    const isOther = this.#issuer !== undefined && !isSameAddress(discovery?.authorizationServerUrl, this.#issuer);
    return isOther ? undefined : discovery;
  }

  async state(): Promise<string> {
    const state = randomBytes(24).toString('base64url');
    await this.#save({ state });
    return state;
  }

  async isOwnState(state: string | null): Promise<boolean> {
    const { state: own } = await this.#read();
    if (own === undefined || state === null || own.length !== state.length) return false;
    return timingSafeEqual(Buffer.from(own), Buffer.from(state));
  }

  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void> {
    if (scope === 'tokens') return this.#forgetUsedTokens();
    if (scope !== 'all') return this.#save({ [scope]: undefined });
    return this.#save({
      client: undefined,
      tokens: undefined,
      verifier: undefined,
      discovery: undefined,
      state: undefined,
    });
  }

  /** Deletes the tokens that this process has used, but not tokens that another process has refreshed meanwhile. */
  #forgetUsedTokens(): Promise<void> {
    return this.#change((login) => {
      const isOther = this.#usedToken !== undefined && login.tokens?.access_token !== this.#usedToken;
      return isOther ? login : { ...login, tokens: undefined };
    });
  }

  async #read(): Promise<Login> {
    await this.#ready;
    const { logins } = await this.#file.read();
    return (logins.find(({ server }) => server === this.#server) ?? {}) as Login;
  }

  #save(change: ChangedLogin): Promise<void> {
    return this.#change((login) => ({ ...login, ...change }));
  }

  async #change(change: (login: Login) => ChangedLogin): Promise<void> {
    await this.#ready;
    await this.#update(change);
  }

  #update(change: (login: Login) => ChangedLogin): Promise<void> {
    return this.#file.update(({ version, logins }) => {
      const known = (logins.find(({ server }) => server === this.#server) ?? {}) as Login;
      const others = logins.filter(({ server }) => server !== this.#server);
      return { version, logins: [...others, { ...change(known), server: this.#server } as (typeof logins)[number]] };
    });
  }
}

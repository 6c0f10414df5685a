import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { PrivateJsonFile } from '../storage/private-json.js';

export interface OAuthFileOptions {
  /**
   * The path of a JSON file that only its owner can read and write (0600). The file has the registrations and tokens by
   * server.
   */
  readonly path: string;
  /** The redirect address after the login, such as `http://127.0.0.1:PORT/callback`. */
  readonly redirectUrl: string;
  /**
   * Shows the login page to the user. The host then calls `finishLogin` with the address to which the browser was
   * redirected.
   */
  readonly onRedirect: (server: string, page: URL) => void | Promise<void>;
  /** The name of this program on the login page. Default 'Toolscript'. */
  readonly clientName?: string;
}

/** A login provider that can verify whether a redirect belongs to the login that it requested. */
export interface LoginProvider extends OAuthClientProvider {
  isOwnState(state: string | null): Promise<boolean>;
}

/** The stored data of one server. The SDK checks this data after each read. */
interface Login {
  client?: StoredOAuthClientInformation;
  tokens?: StoredOAuthTokens;
  verifier?: string;
  discovery?: OAuthDiscoveryState;
  state?: string;
}

type Changed = { [Member in keyof Login]: Login[Member] | undefined };

const LoginSchema = z.strictObject({
  name: z.string(),
  client: z.looseObject({}).optional(),
  tokens: z.looseObject({}).optional(),
  verifier: z.string().optional(),
  discovery: z.looseObject({}).optional(),
  state: z.string().optional(),
});
const FileSchema = z.strictObject({ version: z.literal(1), logins: z.array(LoginSchema) });

/** Makes an `authProvider` for `connectMcpServers` that stores the logins to remote servers in a file. */
export function oauthFile(options: OAuthFileOptions): (server: string) => LoginProvider {
  const file = openFile(options.path);
  return (server) => new FileLogin(server, options, file);
}

/** The servers that the user has logged in to, according to the file of `oauthFile`. */
export async function serversWithLogin(path: string): Promise<readonly string[]> {
  const { logins } = await openFile(path).read();
  return logins.filter(({ tokens }) => tokens !== undefined).map(({ name }) => name);
}

function openFile(path: string): PrivateJsonFile<typeof FileSchema> {
  return new PrivateJsonFile(path, {
    schema: FileSchema,
    empty: { version: 1, logins: [] },
    advice: 'Delete it to log in again.',
  });
}

class FileLogin implements LoginProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: OAuthClientMetadata;
  readonly #server: string;
  readonly #onRedirect: OAuthFileOptions['onRedirect'];
  readonly #file: PrivateJsonFile<typeof FileSchema>;
  /** The access token that this process read last. */
  #used: string | undefined;

  constructor(
    server: string,
    { redirectUrl, onRedirect, clientName = 'Toolscript' }: OAuthFileOptions,
    file: PrivateJsonFile<typeof FileSchema>,
  ) {
    this.#server = server;
    this.#onRedirect = onRedirect;
    this.#file = file;
    this.redirectUrl = redirectUrl;
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
    this.#used = tokens?.access_token;
    return tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    return this.#save({ tokens, verifier: undefined, state: undefined });
  }

  async redirectToAuthorization(page: URL): Promise<void> {
    await this.#onRedirect(this.#server, page);
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
    return (await this.#read()).discovery;
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
      const isOther = this.#used !== undefined && login.tokens?.access_token !== this.#used;
      return isOther ? login : { ...login, tokens: undefined };
    });
  }

  async #read(): Promise<Login> {
    const { logins } = await this.#file.read();
    return (logins.find(({ name }) => name === this.#server) ?? {}) as Login;
  }

  #save(change: Changed): Promise<void> {
    return this.#change((login) => ({ ...login, ...change }));
  }

  #change(change: (login: Login) => Changed): Promise<void> {
    return this.#file.update(({ version, logins }) => {
      const known = (logins.find(({ name }) => name === this.#server) ?? {}) as Login;
      const others = logins.filter(({ name }) => name !== this.#server);
      return { version, logins: [...others, { ...change(known), name: this.#server } as (typeof logins)[number]] };
    });
  }
}

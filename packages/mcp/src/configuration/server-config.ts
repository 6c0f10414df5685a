import { resolve } from 'node:path';
import { isRecord } from '@toolscript/core/internal';
import { ToolscriptUsageError } from '@toolscript/core';
import { z } from 'zod';
import { oneLine } from '../connection/readable.js';
import { safePage } from './safe-page.js';
import { expandVariables, ConfigurationError } from './variables.js';

/**
 * The rule for a tool: `allow` runs it without a question, `ask` asks the user before every call, and `block` hides it
 * from scripts.
 */
export type ToolAction = 'allow' | 'ask' | 'block';

export interface StdioTransport {
  readonly type: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  /** Variables in addition to PATH, HOME and the others that every server gets. A server inherits no other variable. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  /**
   * The program as messages show it: `command` of the configuration, unexpanded, because variables may hold secrets.
   */
  readonly shown: string;
}

export interface HttpTransport {
  /** `http`: Streamable HTTP, or the older SSE transport if the server supports only SSE. `sse`: only SSE. */
  readonly type: 'http' | 'sse';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** The login service that the user has named, from `oauth` of the configuration. */
  readonly login?: NamedLogin | undefined;
  /** The address as messages show it: `url` of the configuration, unexpanded, without user, query and fragment. */
  readonly shown: string;
}

/** A login service that the user trusts. */
interface NamedLogin {
  /** The issuer of the tokens, as the service names itself. */
  readonly issuer: string;
  /** The credentials of a program without a user, for the grant `client_credentials`. */
  readonly client: ClientCredentials | undefined;
  readonly scope: string | undefined;
}

/** The name of a program at a login service, with its secret, or with the private key that signs its requests. */
type ClientCredentials =
  | { readonly clientId: string; readonly clientSecret: string }
  | { readonly clientId: string; readonly privateKey: string; readonly algorithm: string };

/** The API of an OpenAPI document: each of its operations is a tool. */
export interface OpenApiTransport {
  readonly type: 'openapi';
  /** The address of the document, or the absolute path of its file. */
  readonly document: URL | string;
  /** The address of the API, if the configuration names it. Its query is sent with each call. */
  readonly baseUrl: URL | undefined;
  /** Sent with each request to the origin of the API, and to no other. */
  readonly headers: Readonly<Record<string, string>>;
  /** The document as messages show it: `openapi` of the configuration, unexpanded, without user, query and fragment. */
  readonly shown: string;
}

/** A server that is about to be started or connected to, with its variables expanded. */
export interface ServerToStart<Transport = StdioTransport | HttpTransport | OpenApiTransport> {
  /** The name in the configuration. */
  readonly name: string;
  readonly transport: Transport;
}

/** One server of the configuration, with its variables expanded. */
export interface ServerConfig<Transport = ServerToStart['transport']> extends ServerToStart<Transport> {
  /** The rules by the name that the server gives the tool; the rule of `*` applies to all other tools. */
  readonly tools: Readonly<Record<string, ToolAction>>;
  /** Whether `readOnlyHint` and the other hints determine the effect and the approval of a tool. */
  readonly trustAnnotations: boolean;
  /** Whether the server may know the folders of the host. */
  readonly roots: boolean;
  readonly connectTimeoutMs: number | undefined;
  readonly callTimeoutMs: number | undefined;
}

export interface FailedConfig {
  readonly name: string;
  /** One sentence with the problem and its fix. */
  readonly problem: string;
}

export interface ReadConfig {
  readonly servers: readonly ServerConfig[];
  /** Servers with an unusable configuration; the others work. */
  readonly failed: readonly FailedConfig[];
}

const milliseconds = z.number().int().min(1).max(86_400_000);
const texts = z.record(z.string(), z.string());

const MAX_SHOWN = 200;

/** Configurations are shared with other clients, so unknown members are ignored. */
const EntrySchema = z.looseObject({
  type: z.enum(['stdio', 'http', 'streamable-http', 'streamableHttp', 'sse']).optional(),
  command: z.string().min(1).optional(),
  args: z.array(z.string()).optional(),
  env: texts.optional(),
  cwd: z.string().optional(),
  url: z.string().optional(),
  openapi: z.string().min(1).optional(),
  baseUrl: z.string().optional(),
  headers: texts.optional(),
  oauth: z
    .strictObject({
      issuer: z.string(),
      clientId: z.string().min(1).optional(),
      clientSecret: z.string().optional(),
      privateKey: z.string().optional(),
      algorithm: z.string().min(1).optional(),
      scope: z.string().optional(),
    })
    .optional(),
  roots: z.boolean().optional(),
  disabled: z.boolean().optional(),
  enabled: z.boolean().optional(),
  tools: z.record(z.string(), z.enum(['allow', 'ask', 'block'])).optional(),
  trustAnnotations: z.boolean().optional(),
  connectTimeoutMs: milliseconds.optional(),
  callTimeoutMs: milliseconds.optional(),
});

type Entry = z.infer<typeof EntrySchema>;
type OAuthEntry = NonNullable<Entry['oauth']>;

/** The algorithm of signatures by a private key of the curve P-256. */
const DEFAULT_ALGORITHM = 'ES256';

const TIME = 'a whole number of milliseconds from 1 to 86400000';

/** The valid values of each member, for messages. */
const SHAPES: Readonly<Record<keyof Entry, string>> = {
  type: '"stdio", "http" or "sse"',
  command: 'the name of a program',
  args: 'a list of strings',
  env: 'an object whose values are strings',
  cwd: 'the path of a folder',
  url: 'an address',
  openapi: 'the path or the address of an OpenAPI document',
  baseUrl: 'an address',
  headers: 'an object whose values are strings',
  oauth: 'an object with "issuer" and perhaps "clientId", "clientSecret", "privateKey", "algorithm" and "scope"',
  roots: 'true or false',
  disabled: 'true or false',
  enabled: 'true or false',
  tools: 'an object with "allow", "ask" or "block" for names of tools, or for "*"',
  trustAnnotations: 'true or false',
  connectTimeoutMs: TIME,
  callTimeoutMs: TIME,
};
type Expand = (text: string) => string;

export interface ReadConfigOptions {
  /** The variables for `${NAME}`. Default: the environment of this process. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** Returns the reason why a server must not be started, as the end of a sentence; undefined if it may be started. */
  readonly refuse?: ((server: ServerToStart) => string | undefined) | undefined;
}

/**
 * Reads the usual `{ "mcpServers": { NAME: { command, args, env } | { url, headers } } }`, and the `servers` of Visual
 * Studio Code. Throws a `ToolscriptUsageError` if there is no such object; each invalid server is listed in `failed`.
 * Disabled servers are omitted.
 */
export function readMcpConfig(
  config: unknown,
  { environment = process.env, refuse }: ReadConfigOptions = {},
): ReadConfig {
  const servers: ServerConfig[] = [];
  const failed: FailedConfig[] = [];
  for (const [name, given] of Object.entries(configuredServers(config))) {
    try {
      const entry = readEntry(given);
      if (entry.disabled === true || entry.enabled === false) continue;
      const server = serverConfig(name, entry, (text) => expandVariables(text, environment));
      const reason = refuse?.(server);
      if (reason !== undefined) throw new ConfigurationError(reason);
      servers.push(server);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      failed.push({ name, problem: `The MCP server "${name}" is not started: ${error.message}.` });
    }
  }
  return { servers, failed };
}

function configuredServers(config: unknown): Record<string, unknown> {
  const { mcpServers, servers } = (isRecord(config) ? config : {}) as Record<string, unknown>;
  const found = mcpServers ?? servers;
  if (isRecord(found)) return found;
  throw new ToolscriptUsageError('MCP_CONFIGURATION_INVALID');
}

function readEntry(given: unknown): Entry {
  const result = EntrySchema.safeParse(given);
  if (result.success) return result.data;
  const path = (result.error.issues[0]?.path ?? []).map(String);
  const member = path[0] as keyof Entry | undefined;
  if (member === undefined) throw new ConfigurationError('its entry must be an object with "command" or "url"');
  const part = path.length === 1 ? '' : `"${oneLine(path.join('.'), MAX_SHOWN)}" is wrong: `;
  throw new ConfigurationError(`${part}"${member}" must be ${SHAPES[member]}`);
}

function serverConfig(name: string, entry: Entry, expand: Expand): ServerConfig {
  return {
    name,
    transport: entryTransport(entry, expand),
    tools: entry.tools ?? {},
    trustAnnotations: entry.trustAnnotations ?? true,
    roots: entry.roots ?? false,
    connectTimeoutMs: entry.connectTimeoutMs,
    callTimeoutMs: entry.callTimeoutMs,
  };
}

function entryTransport(entry: Entry, expand: Expand): ServerToStart['transport'] {
  const { command, url, type, openapi } = entry;
  if (openapi !== undefined) return openApiTransport(entry, openapi, expand);
  if (command !== undefined && url !== undefined)
    throw new ConfigurationError('it has both "command" and "url"; remove one of them');
  if (command !== undefined && (type === undefined || type === 'stdio'))
    return {
      type: 'stdio',
      command: expand(command),
      args: (entry.args ?? []).map(expand),
      env: expandAll(entry.env, expand),
      cwd: entry.cwd === undefined ? undefined : expand(entry.cwd),
      shown: oneLine(command, MAX_SHOWN),
    };
  if (url !== undefined && type !== 'stdio')
    return {
      type: type === 'sse' ? 'sse' : 'http',
      url: readUrl(expand(url), 'url'),
      headers: expandAll(entry.headers, expand),
      login: namedLogin(entry.oauth, expand),
      shown: shownAddress(url),
    };
  throw new ConfigurationError(
    `it needs "command" (a program to start), "url" (a server to connect to) or "openapi" (the document of an API)${unknownMembers(entry)}`,
  );
}

function namedLogin(oauth: Entry['oauth'], expand: Expand): NamedLogin | undefined {
  if (oauth === undefined) return undefined;
  const { scope } = oauth;
  const issuer = expand(oauth.issuer);
  // defence: mcp-issuers-are-safe
  if (safePage(issuer) === undefined)
    throw new ConfigurationError('"oauth.issuer" must be an address with https, or on this machine');
  return {
    issuer,
    client: clientCredentials(oauth, expand),
    scope: scope === undefined ? undefined : expand(scope),
  };
}

function clientCredentials(oauth: OAuthEntry, expand: Expand): ClientCredentials | undefined {
  const { clientId, clientSecret, privateKey, algorithm } = oauth;
  if (clientId === undefined && clientSecret === undefined && privateKey === undefined) return undefined;
  if (clientSecret !== undefined && privateKey !== undefined)
    throw new ConfigurationError('it has both "oauth.clientSecret" and "oauth.privateKey"; remove one of them');
  const member = privateKey === undefined ? 'clientSecret' : 'privateKey';
  const secret = namedSecret(member, privateKey ?? clientSecret);
  if (clientId === undefined) throw new ConfigurationError(`"oauth.${member}" needs "oauth.clientId"`);
  const credentials = { clientId: expand(clientId) };
  return privateKey === undefined
    ? { ...credentials, clientSecret: expand(secret) }
    : { ...credentials, privateKey: expand(secret), algorithm: algorithm ?? DEFAULT_ALGORITHM };
}

/** Text in the file is no secret: everyone who reads the file has it. */
function namedSecret(member: string, reference: string | undefined): string {
  // defence: mcp-secrets-are-variables
  if (reference === undefined || !/^\$\{[^}]*\}$/u.test(reference) || reference.includes(':-'))
    throw new ConfigurationError(`"oauth.${member}" must name an environment variable, such as "\${DOCS_SECRET}"`);
  return reference;
}

function openApiTransport(entry: Entry, given: string, expand: Expand): OpenApiTransport {
  if (entry.command !== undefined || entry.url !== undefined)
    throw new ConfigurationError('it has both "openapi" and "command" or "url"; remove one of them');
  const document = expand(given);
  const isAddress = /^https?:\/\//iu.test(document);
  return {
    type: 'openapi',
    document: isAddress ? readUrl(document, 'openapi') : resolve(expand(entry.cwd ?? '.'), document),
    baseUrl: entry.baseUrl === undefined ? undefined : readUrl(expand(entry.baseUrl), 'baseUrl'),
    headers: expandAll(entry.headers, expand),
    shown: shownAddress(given),
  };
}

function shownAddress(address: string): string {
  return oneLine(address.replace(/[?#].*$/su, '').replace(/\/\/[^/]*@/u, '//'), MAX_SHOWN);
}

/** The end of an error, which lists the unknown members: one of them may be a misspelt `command` or `url`. */
function unknownMembers(entry: Entry): string {
  const unknown = Object.keys(entry).filter((member) => !Object.hasOwn(SHAPES, member));
  return unknown.length === 0
    ? ''
    : `; unknown members: ${unknown.map((member) => `"${oneLine(member, 50)}"`).join(', ')}`;
}

function expandAll(texts: Readonly<Record<string, string>> | undefined, expand: Expand): Record<string, string> {
  return Object.fromEntries(Object.entries(texts ?? {}).map(([name, text]) => [name, expand(text)]));
}

function readUrl(text: string, member: keyof Entry): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw new ConfigurationError(`"${member}" must be an address that begins with http:// or https://`);
  return url;
}

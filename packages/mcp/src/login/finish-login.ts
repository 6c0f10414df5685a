import { StreamableHTTPClientTransport, type FetchLike, type OAuthClientProvider } from '@modelcontextprotocol/client';
import { ToolscriptUsageError } from '@toolscript/core';
import { limitedSignal } from '@toolscript/core/internal';
import type { ServerConfig } from '../configuration/server-config.js';
import { serverFetch } from '../connection/server-fetch.js';
import type { LoginProvider } from './oauth-file.js';

/** Maximum time of one request of a login, in ms. */
const REQUEST_MS = 20_000;

/** Exchanges the parameters of the browser's redirect for tokens, which the provider stores. */
export async function finishLogin(
  { name, transport }: ServerConfig,
  provider: OAuthClientProvider | LoginProvider | undefined,
  address: string | URL,
): Promise<void> {
  if (!('url' in transport) || provider === undefined)
    throw new ToolscriptUsageError('MCP_SERVER_WITHOUT_LOGIN', { name });
  const { searchParams } = new URL(address);
  // defence: mcp-logins-belong-to-their-question
  if ('isOwnState' in provider && !(await provider.isOwnState(searchParams.get('state'))))
    throw new ToolscriptUsageError('MCP_REDIRECT_OF_OTHER_LOGIN', { name });
  const fetch = inTime(serverFetch(transport));
  await new StreamableHTTPClientTransport(transport.url, { authProvider: provider, fetch }).finishAuth(searchParams);
}

function inTime(fetch: FetchLike): FetchLike {
  return (url, init = {}) => fetch(url, { ...init, signal: limitedSignal(REQUEST_MS, init.signal ?? undefined) });
}

import { StreamableHTTPClientTransport, type OAuthClientProvider } from '@modelcontextprotocol/client';
import { ToolscriptUsageError } from '@toolscript/core';
import type { ServerConfig } from '../configuration/server-config.js';
import type { LoginProvider } from './oauth-file.js';

/** Exchanges the parameters of the browser's redirect for tokens, which the provider stores. */
export async function finishLogin(
  { name, transport }: ServerConfig,
  provider: OAuthClientProvider | LoginProvider | undefined,
  address: string | URL,
): Promise<void> {
  if (transport.type === 'stdio' || provider === undefined)
    throw new ToolscriptUsageError(
      `The MCP server "${name}" has no login: it is a local program, or there is no authProvider. Set authProvider for a remote server.`,
    );
  const { searchParams } = new URL(address);
  // defence: mcp-logins-belong-to-their-question
  if ('isOwnState' in provider && !(await provider.isOwnState(searchParams.get('state'))))
    throw new ToolscriptUsageError(
      `The redirect address does not belong to the requested login to "${name}". Connect again, and log in at the new page.`,
    );
  await new StreamableHTTPClientTransport(transport.url, { authProvider: provider }).finishAuth(searchParams);
}

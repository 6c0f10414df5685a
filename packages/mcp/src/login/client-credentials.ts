import {
  ClientCredentialsProvider,
  PrivateKeyJwtProvider,
  type OAuthClientProvider,
} from '@modelcontextprotocol/client';
import type { ServerToStart } from '../configuration/server-config.js';

/**
 * The login of a program without a user, with its secret or with requests that its private key signs; undefined if the
 * configuration has no credentials. The tokens stay in memory, and belong to this server alone.
 */
export function credentialsProvider({ transport }: ServerToStart): OAuthClientProvider | undefined {
  const login = 'login' in transport ? transport.login : undefined;
  if (login?.client === undefined) return undefined;
  const { issuer: expectedIssuer, scope, client } = login;
  const options = { expectedIssuer, ...(scope === undefined ? {} : { scope }) };
  return 'privateKey' in client
    ? new PrivateKeyJwtProvider({ ...client, ...options })
    : new ClientCredentialsProvider({ ...client, ...options });
}

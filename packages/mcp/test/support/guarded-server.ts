import { createHash, randomUUID, verify, type KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { OlderServer, listen } from './http-servers.js';

/**
 * An MCP server that requires a login: an authorization server and the resource in one, with PKCE. `issuer`: the issuer
 * that it names in place of itself. `clientKey`: the public key of the program "me".
 */
export async function guardedServer({ issuer, clientKey }: { issuer?: string; clientKey?: KeyObject } = {}) {
  const secrets: string[] = [];
  const tools = new OlderServer();
  tools.tools.set('secret', () => 'the secret');
  const inner = tools.httpListener();
  const challenges = new Map<string, string>();
  const tokens = new Set<string>();
  let refreshes = 0;
  const json = (response: ServerResponse, body: object, status = 200) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const grant = (response: ServerResponse) => {
    const token = randomUUID();
    tokens.add(token);
    json(response, { access_token: token, token_type: 'Bearer', expires_in: 3_600, refresh_token: `refresh-${token}` });
  };
  const url = await listen(async (request, response) => {
    const origin = `http://${request.headers.host}`;
    const { pathname, searchParams } = new URL(request.url ?? '/', origin);
    if (pathname.startsWith('/.well-known/oauth-protected-resource'))
      return json(response, { resource: `${origin}/mcp`, authorization_servers: [origin] });
    if (pathname.startsWith('/.well-known/oauth-authorization-server'))
      return json(response, {
        issuer: issuer ?? origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported:
          clientKey === undefined ? ['none', 'client_secret_basic'] : ['private_key_jwt'],
      });
    if (pathname === '/register')
      return json(response, { ...(JSON.parse(await bodyOf(request)) as object), client_id: 'client-1' }, 201);
    if (pathname === '/authorize') {
      const code = randomUUID();
      challenges.set(code, searchParams.get('code_challenge') ?? '');
      const back = new URL(searchParams.get('redirect_uri')!);
      back.search = new URLSearchParams({ code, state: searchParams.get('state') ?? '' }).toString();
      return response.writeHead(302, { location: back.href }).end();
    }
    if (pathname === '/token') {
      const form = new URLSearchParams(await bodyOf(request));
      const assertion = form.get('client_assertion');
      if (assertion !== null && clientKey !== undefined) {
        secrets.push(isSignedBy(clientKey, assertion, origin) ? 'signed' : 'not signed');
        return secrets.at(-1) === 'signed' ? grant(response) : json(response, { error: 'invalid_client' }, 401);
      }
      if (form.get('grant_type') === 'client_credentials') {
        secrets.push(Buffer.from(request.headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString());
        return secrets.at(-1) === 'me:right' ? grant(response) : json(response, { error: 'invalid_client' }, 401);
      }
      if (form.get('grant_type') === 'refresh_token') {
        refreshes += 1;
        return grant(response);
      }
      const challenge = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url');
      const isRight = challenges.get(form.get('code') ?? '') === challenge;
      challenges.delete(form.get('code') ?? '');
      return isRight ? grant(response) : json(response, { error: 'invalid_grant' }, 400);
    }
    if (tokens.has(request.headers.authorization?.replace('Bearer ', '') ?? '')) return inner(request, response);
    const challenge = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource"`;
    return response.writeHead(401, { 'www-authenticate': challenge }).end();
  });
  return { url, secrets, revoke: () => tokens.clear(), refreshes: () => refreshes };
}

/** True if the program "me" has signed a token for the audience with ES256. */
function isSignedBy(key: KeyObject, token: string, audience: string): boolean {
  const [header = '', claims = '', signature = ''] = token.split('.');
  const { iss, sub, aud } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>;
  const isForThis = iss === 'me' && sub === 'me' && String(aud).replace(/\/$/u, '') === audience;
  const data = Buffer.from(`${header}.${claims}`);
  const signed = verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'));
  return isForThis && signed;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

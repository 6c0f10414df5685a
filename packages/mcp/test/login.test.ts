import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { oauthFile, serversWithLogin, type McpEvent, type ServerToStart } from '#mcp/index.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MAX_MESSAGE_BYTES } from '#mcp/connection/limited-answer.js';
import { serverFetch } from '#mcp/connection/server-fetch.js';
import type { HttpTransport } from '#mcp/index.js';
import { guardedServer } from './support/guarded-server.js';
import { listen } from './support/http-servers.js';
import { attachedHarness, openServers, valueOf } from './support/open.js';

const REDIRECT = 'http://127.0.0.1:9/callback';

function loginFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-login-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'inner/logins.json');
}

/** The user's steps in the browser: agrees, and is redirected. */
async function logIn(page: URL): Promise<string> {
  const { headers } = await fetch(page, { redirect: 'manual' });
  return headers.get('location')!;
}

function remote(url: string, name = 'server'): ServerToStart {
  return { name, transport: { type: 'http', url: new URL(url), headers: {}, shown: url } };
}

const SERVER = remote('https://one.example/mcp');

const SECRET = 'return tools.mcp.server.secret()';

describe('a program without a user', () => {
  const entry = (url: string, issuer = new URL(url).origin) => ({
    url,
    oauth: { clientId: 'me', clientSecret: '${SECRET}', issuer },
  });

  it('logs in with the credentials of its configuration, again after the token has ended', async () => {
    const { url, secrets, revoke } = await guardedServer();
    const mcp = await openServers({ server: entry(url) }, { environment: { SECRET: 'right' } });
    const harness = attachedHarness(mcp);
    expect(valueOf(await harness.runScript(SECRET))).toBe('the secret');
    revoke();
    expect(valueOf(await harness.runScript(SECRET))).toBe('the secret');
    expect(secrets).toEqual(['me:right', 'me:right']);
  });

  it('logs in with the signature of its private key, which it sends nowhere', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { url, secrets } = await guardedServer({ clientKey: publicKey });
    const oauth = { issuer: new URL(url).origin, clientId: 'me', privateKey: '${SECRET}' };
    const environment = { SECRET: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
    const mcp = await openServers({ server: { url, oauth } }, { environment });
    expect(valueOf(await attachedHarness(mcp).runScript(SECRET))).toBe('the secret');
    expect(secrets).toEqual(['signed']);
  });

  it('gives its secret to no other issuer', async () => {
    const { url, secrets } = await guardedServer();
    const mcp = await openServers(
      { server: entry(url, 'https://login.example') },
      { environment: { SECRET: 'right' } },
    );
    expect(mcp.status()[0]).toMatchObject({ state: 'failed', problem: expect.stringContaining('oauth.issuer') });
    expect(secrets).toEqual([]);
  });

  it('keeps its secret in the environment, not in the file', async () => {
    for (const clientSecret of ['right', '${SECRET:-right}', 'x${SECRET}']) {
      const server = {
        url: 'https://one.example',
        oauth: { clientId: 'me', clientSecret, issuer: 'https://one.example' },
      };
      const mcp = await openServers({ server });
      expect(mcp.status()[0]?.problem).toContain('"oauth.clientSecret" must name an environment variable');
    }
    for (const [oauth, problem] of [
      [{ clientId: 'me', privateKey: 'KEY' }, '"oauth.privateKey" must name an environment variable'],
      [{ privateKey: '${KEY}' }, '"oauth.privateKey" needs "oauth.clientId"'],
      [{ clientId: 'me', privateKey: '${KEY}', clientSecret: '${KEY}' }, 'has both'],
    ] as const) {
      const issuer = 'https://one.example';
      const mcp = await openServers(
        { server: { url: issuer, oauth: { ...oauth, issuer } } },
        { environment: { KEY: 'k' } },
      );
      expect(mcp.status()[0]?.problem).toContain(problem);
    }
  });
});

describe('a remote server with a login', () => {
  it('is connected after the user has logged in, and again by a later process, with tokens for the owner alone', async () => {
    const { url, revoke, refreshes } = await guardedServer();
    const path = loginFile();
    const pages: URL[] = [];
    const events: McpEvent[] = [];
    const onRedirect = (_server: string, page: URL) => void pages.push(page);
    const options = { authProvider: oauthFile({ path, redirectUrl: REDIRECT, onRedirect }) };
    const mcp = await openServers({ server: { url } }, { ...options, onEvent: (event) => events.push(event) });
    expect(mcp.status()[0]).toMatchObject({ state: 'failed', problem: expect.stringContaining('Log in to it') });
    expect(events.filter((event) => event.type === 'state' && event.state === 'connecting')).toHaveLength(1);
    expect(pages[0]?.searchParams.get('code_challenge_method')).toBe('S256');

    await mcp.finishLogin('server', await logIn(pages.at(-1)!));
    expect(mcp.status()[0]).toMatchObject({ state: 'connected', problem: undefined });
    expect(valueOf(await attachedHarness(mcp).runScript(SECRET))).toBe('the secret');
    if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).toBe(0o600);

    const shown = pages.length;
    revoke();
    const again = await openServers({ server: { url } }, options);
    expect(valueOf(await attachedHarness(again).runScript(SECRET))).toBe('the secret');
    expect(pages).toHaveLength(shown);
    expect(refreshes()).toBe(1);
  });

  it('takes no answer to a question that it has not asked', async () => {
    const { url } = await guardedServer();
    const path = loginFile();
    const pages: URL[] = [];
    const onRedirect = (_server: string, page: URL) => void pages.push(page);
    const mcp = await openServers(
      { server: { url } },
      { authProvider: oauthFile({ path, redirectUrl: REDIRECT, onRedirect }) },
    );
    const own = new URL(await logIn(pages.at(-1)!));
    for (const state of ['', 'x'.repeat(32)]) {
      const foreign = new URL(own);
      foreign.searchParams.set('state', state);
      await expect(mcp.finishLogin('server', foreign)).rejects.toThrow('does not belong to the requested login');
    }
    expect(readFileSync(path, 'utf8')).not.toContain('access_token');
    await mcp.finishLogin('server', own);
    await expect(mcp.finishLogin('server', own)).rejects.toThrow('does not belong to the requested login');
  });

  it('keeps the tokens that another process has refreshed when its own are refused', async () => {
    const path = loginFile();
    const [one, other] = [0, 1].map(() => oauthFile({ path, redirectUrl: REDIRECT, onRedirect: () => {} })(SERVER));
    const tokens = (name: string) => ({ access_token: name, token_type: 'Bearer' });
    await one!.saveTokens(tokens('old'));
    await one!.tokens();
    await other!.saveTokens(tokens('new'));
    await one!.invalidateCredentials?.('tokens');
    expect(await one!.tokens()).toEqual(tokens('new'));
    await one!.invalidateCredentials?.('tokens');
    expect(await other!.tokens()).toBeUndefined();
  });

  it('asks for its login service again after each login, and after the user has named another one', async () => {
    const path = loginFile();
    const loginTo = (issuer: string) => {
      const transport = { ...SERVER.transport, login: { issuer, client: undefined, scope: undefined } };
      return oauthFile({ path, redirectUrl: REDIRECT, onRedirect: () => {} })({
        ...SERVER,
        transport,
      } as ServerToStart);
    };
    const login = loginTo('https://one.example');
    await login.saveDiscoveryState!({ authorizationServerUrl: 'https://one.example/' });
    expect(await login.discoveryState!()).toEqual({ authorizationServerUrl: 'https://one.example/' });
    expect(await loginTo('https://two.example').discoveryState!()).toBeUndefined();
    await login.saveTokens({ access_token: 'new', token_type: 'Bearer' });
    expect(await login.discoveryState!()).toBeUndefined();
  });

  it('accepts no redirect after it was invalidated as a whole', async () => {
    const login = oauthFile({ path: loginFile(), redirectUrl: REDIRECT, onRedirect: () => {} })(SERVER);
    const state = await login.state!();
    expect(await login.isOwnState(state)).toBe(true);
    await login.invalidateCredentials?.('all');
    expect(await login.isOwnState(state)).toBe(false);
  });

  it('keeps the logins to servers that are saved at the same time', async () => {
    const path = loginFile();
    const names = ['a', 'b', 'c', 'd'];
    const servers = names.map((name) => remote(`https://${name}.example/mcp`));
    const login = oauthFile({ path, redirectUrl: REDIRECT, onRedirect: () => {} });
    await Promise.all(
      servers.map(async (server) => login(server).saveTokens({ access_token: server.name, token_type: 'Bearer' })),
    );
    const stored = await serversWithLogin(path);
    expect(servers.map((server) => stored.has(server))).toEqual([true, true, true, true]);
  });

  it('has tokens that no server of the same name at another address gets', async () => {
    const path = loginFile();
    const login = oauthFile({ path, redirectUrl: REDIRECT, onRedirect: () => {} });
    const tokens = { access_token: 'for one', token_type: 'Bearer' };
    await login(SERVER).saveTokens(tokens);
    for (const url of ['https://two.example/mcp', 'https://one.example/other', 'https://one.example:444/mcp']) {
      expect(await login(remote(url)).tokens(), url).toBeUndefined();
      expect((await serversWithLogin(path)).has(remote(url)), url).toBe(false);
    }
    expect(
      await login(remote(SERVER.transport.type === 'http' ? SERVER.transport.url.href : '', 'renamed')).tokens(),
    ).toEqual(tokens);
  });

  it('steers no request to another address without https, and its configured headers stay at its own', async () => {
    const seen: string[] = [];
    const inside = await listen((request, response) => {
      seen.push(`${request.method} ${String(request.headers['x-api-key'])}`);
      response.writeHead(404).end();
    });
    const { origin } = new URL(inside);
    const own: unknown[] = [];
    const url = await listen((request, response) => {
      own.push(request.headers['x-api-key']);
      const { pathname } = new URL(request.url!, 'http://localhost');
      if (pathname.startsWith('/.well-known/oauth-protected-resource'))
        return response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ resource: `http://${request.headers.host}/mcp`, authorization_servers: [origin] }));
      return response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${challenge}"` }).end();
    });
    let challenge = `${origin}/.well-known/x`;
    const authProvider = oauthFile({ path: loginFile(), redirectUrl: REDIRECT, onRedirect: () => {} });
    const config = { server: { url, headers: { 'X-Api-Key': 'key' } } };
    for (challenge of [challenge, new URL('/.well-known/oauth-protected-resource', url).href]) {
      const mcp = await openServers(config, { authProvider });
      expect(mcp.status()[0]).toMatchObject({ state: expect.not.stringMatching('^connected$') });
    }
    expect(seen).toEqual([]);
    expect(own.length).toBeGreaterThan(1);
    expect(new Set(own)).toEqual(new Set(['key']));
  });

  it('has no private address as its login service, even with https', async () => {
    const fetch = serverFetch(remote('https://one.example/mcp').transport as HttpTransport);
    for (const host of ['127.0.0.1', '[::1]', '10.0.0.1', '169.254.169.254', 'localhost'])
      await expect(fetch(`https://${host}/token`, { method: 'POST', body: 'x' })).rejects.toThrow('not public');
    await expect(fetch('http://example.com/token')).rejects.toThrow('not https');
  });

  it('is reached if the user has named it, with https or on this machine', async () => {
    const issuer = await listen((_request, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(`"${'x'.repeat(MAX_MESSAGE_BYTES)}"`),
    );
    const transport = { ...remote('https://one.example/mcp').transport, login: { issuer } } as HttpTransport;
    const answer = await serverFetch(transport)(issuer);
    await expect(answer.text()).rejects.toThrow('maximum');
    const mcp = await openServers({
      server: { url: 'https://one.example', oauth: { issuer: 'http://login.example' } },
    });
    expect(mcp.status()[0]?.problem).toContain('"oauth.issuer" must be an address with https');
  });

  it('shows no page that is not a web page', async () => {
    const shown: URL[] = [];
    const login = oauthFile({
      path: loginFile(),
      redirectUrl: REDIRECT,
      onRedirect: (_name, page) => void shown.push(page),
    })(SERVER);
    for (const page of ['file:///etc/passwd', 'javascript:alert(1)', 'vscode://x'])
      await expect(login.redirectToAuthorization(new URL(page))).rejects.toThrow('it is not shown');
    expect(shown).toEqual([]);
  });

  it('a program has none', async () => {
    const mcp = await openServers({ program: { command: 'toolscript-no-such-program' } });
    await expect(mcp.finishLogin('program', REDIRECT)).rejects.toThrow('has no login');
    expect(mcp.status()[0]?.state).toBe('failed');
  });
});

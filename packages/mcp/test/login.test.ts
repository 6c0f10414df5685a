import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { oauthFile, serversWithLogin, type McpEvent } from '#mcp/index.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { guardedServer } from './support/guarded-server.js';
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

const SECRET = 'return tools.mcp.server.secret()';

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
    const [one, other] = [0, 1].map(() => oauthFile({ path, redirectUrl: REDIRECT, onRedirect: () => {} })('server'));
    const tokens = (name: string) => ({ access_token: name, token_type: 'Bearer' });
    await one!.saveTokens(tokens('old'));
    await one!.tokens();
    await other!.saveTokens(tokens('new'));
    await one!.invalidateCredentials?.('tokens');
    expect(await one!.tokens()).toEqual(tokens('new'));
    await one!.invalidateCredentials?.('tokens');
    expect(await other!.tokens()).toBeUndefined();
  });

  it('accepts no redirect after it was invalidated as a whole', async () => {
    const login = oauthFile({ path: loginFile(), redirectUrl: REDIRECT, onRedirect: () => {} })('server');
    const state = await login.state!();
    expect(await login.isOwnState(state)).toBe(true);
    await login.invalidateCredentials?.('all');
    expect(await login.isOwnState(state)).toBe(false);
  });

  it('keeps the logins to servers that are saved at the same time', async () => {
    const path = loginFile();
    const names = ['a', 'b', 'c', 'd'];
    const login = (name: string) => oauthFile({ path, redirectUrl: REDIRECT, onRedirect: () => {} })(name);
    await Promise.all(names.map(async (name) => login(name).saveTokens({ access_token: name, token_type: 'Bearer' })));
    expect([...(await serversWithLogin(path))].toSorted()).toEqual(names);
  });

  it('a program has none', async () => {
    const mcp = await openServers({ program: { command: 'toolscript-no-such-program' } });
    await expect(mcp.finishLogin('program', REDIRECT)).rejects.toThrow('has no login');
    expect(mcp.status()[0]?.state).toBe('failed');
  });
});

import { join } from 'node:path';
import { inputRequired, inputResponse, McpServer } from '@modelcontextprotocol/server';
import type { ElicitationRequest } from '#mcp/index.js';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { listen, listenNewest, OlderServer } from './support/http-servers.js';
import { attachedHarness, nextTools, openServers, valueOf } from './support/open.js';

const fixture = (name: string) => ({
  command: process.execPath,
  args: [join(import.meta.dirname, 'fixtures', name)],
});

function newestServer(): McpServer {
  const server = new McpServer({ name: 'newest', version: '1.0.0' });
  const inputSchema = z.object({ text: z.string() });
  server.registerTool('upper', { description: 'Upper case', inputSchema }, ({ text }) => ({
    content: [{ type: 'text', text: text.toUpperCase() }],
  }));
  return server;
}

function older(): OlderServer {
  const server = new OlderServer();
  server.tools.set('upper', ({ text }) => String(text).toUpperCase());
  return server;
}

const UPPER = `return tools.mcp.server.upper({ text: 'abc' })`;

describe('a server is reached over', () => {
  it('stdio, of the newest protocol alone', async () => {
    const mcp = await openServers({ server: fixture('newest-protocol.mjs') });
    expect(mcp.status()).toMatchObject([{ state: 'connected', protocolVersion: '2026-07-28' }]);
    expect(valueOf(await attachedHarness(mcp).runScript(UPPER))).toEqual({ upper: 'ABC' });
  });

  it('Streamable HTTP, of the older protocols, with sessions', async () => {
    const mcp = await openServers({ server: await older().listenHttp() });
    expect(mcp.status()).toMatchObject([{ state: 'connected', protocolVersion: '2025-11-25' }]);
    expect(valueOf(await attachedHarness(mcp).runScript(UPPER))).toBe('ABC');
  });

  it('Streamable HTTP, of the newest protocol, with headers from variables', async () => {
    const { url, requests } = await listenNewest(newestServer);
    const headers = { Authorization: 'Bearer ${TOKEN}', 'x-team': '${TEAM:-none}' };
    const mcp = await openServers({ server: { type: 'http', url, headers } }, { environment: { TOKEN: 'secret' } });
    expect(mcp.status()).toMatchObject([{ state: 'connected', protocolVersion: '2026-07-28' }]);
    expect(valueOf(await attachedHarness(mcp).runScript(UPPER))).toBe('ABC');
    expect(requests.length).toBeGreaterThan(1);
    for (const request of requests)
      expect(request.headers).toMatchObject({ authorization: 'Bearer secret', 'x-team': 'none' });
  });

  it.each(['http', 'sse'])('SSE, where there is nothing newer: "type": "%s"', async (type) => {
    const mcp = await openServers({ server: { type, ...(await older().listenSse()) } });
    expect(mcp.status()).toMatchObject([{ state: 'connected', problem: undefined }]);
    expect(valueOf(await attachedHarness(mcp).runScript(UPPER))).toBe('ABC');
  });
});

describe('a server that cannot be reached is reported in one sentence:', () => {
  it('refused access', async () => {
    const url = await listen((_request, response) => response.writeHead(401).end());
    const [status] = (await openServers({ server: { url } })).status();
    expect(status?.problem).toBe(
      `The MCP server "server" at ${url} refuses access (HTTP 401). Log in to it, or set its "headers".`,
    );
  });

  it('no server there', async () => {
    const [status] = (await openServers({ server: { url: 'http://127.0.0.1:9/mcp' } })).status();
    expect(status?.problem).toMatch(
      /^The MCP server "server" at http:\/\/127\.0\.0\.1:9\/mcp could not be reached: .*Check "url"/u,
    );
  });

  it('no answer in time, over either transport', async () => {
    const url = await listen(() => {});
    const silent = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] };
    const mcp = await openServers({ remote: { url }, local: silent }, { connectTimeoutMs: 300 });
    for (const { problem } of mcp.status()) expect(problem).toMatch(/did not answer within 300 ms|timed out/iu);
  });
});

describe('a list that changes', () => {
  it.each(['listenHttp', 'listenSse'] as const)('is followed, over %s', async (transport) => {
    const server = older();
    const mcp = await openServers({ server: await server[transport]() }, { onTrust: () => true });
    const harness = attachedHarness(mcp);
    const changed = nextTools(harness);
    server.tools.set('lower', ({ text }) => String(text).toLowerCase());
    server.tools.delete('upper');
    await server.announce();
    await changed;
    expect(valueOf(await harness.runScript(`return tools.mcp.server.lower({ text: 'ABC' })`))).toBe('abc');
    expect(harness.declarations()).not.toContain('upper');
  });

  it('is followed in the newest protocol', async () => {
    let name = 'first';
    const { url, handler } = await listenNewest(() => {
      const server = new McpServer({ name: 'newest', version: '1.0.0' });
      server.registerTool(name, {}, () => ({ content: [{ type: 'text', text: name }] }));
      return server;
    });
    const mcp = await openServers({ server: { url } }, { onTrust: () => true });
    const harness = attachedHarness(mcp);
    const changed = nextTools(harness);
    name = 'second';
    handler.notify.toolsChanged();
    await changed;
    expect(valueOf(await harness.runScript('return tools.mcp.server.second()'))).toBe('second');
  });
});

describe('a server of the newest protocol that needs the user in the middle of a call', () => {
  const asking = () =>
    listenNewest(() => {
      const server = new McpServer({ name: 'newest', version: '1.0.0' });
      server.registerTool('book', {}, (ctx) => {
        const answer = inputResponse(ctx.mcpReq.inputResponses, 'seat');
        if (answer.kind === 'elicit')
          return { content: [{ type: 'text', text: `${answer.action} ${String(answer.content?.['seat'])}` }] };
        const requestedSchema = { type: 'object' as const, properties: { seat: { type: 'string' as const } } };
        return inputRequired({
          inputRequests: { seat: inputRequired.elicit({ message: 'Which seat?', requestedSchema }) },
        });
      });
      return server;
    });

  it('gets the answer of the host', async () => {
    const { url } = await asking();
    const questions: ElicitationRequest[] = [];
    const mcp = await openServers(
      { server: { url } },
      {
        onElicitation: async (question) => {
          questions.push(question);
          return { action: 'accept', content: { seat: '12A' } };
        },
      },
    );
    expect(valueOf(await attachedHarness(mcp).runScript('return tools.mcp.server.book()'))).toBe('accept 12A');
    expect(questions).toMatchObject([{ server: 'server', mode: 'form', message: 'Which seat?' }]);
  });

  it('gets none where the host has none, and the call fails', async () => {
    const harness = attachedHarness(await openServers({ server: { url: (await asking()).url } }));
    const { status, error } = await harness.callTool('mcp.server.book', {});
    expect(status).toBe('failed');
    expect(error?.message).toMatch(/elicitation/iu);
  });
});

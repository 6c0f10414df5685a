import { describe, expect, it } from 'vitest';
import { readMcpConfig, type ServerToStart } from '#mcp/configuration/server-config.js';

const read = (entry: object, environment: Record<string, string> = {}) => {
  const { servers, failed } = readMcpConfig({ mcpServers: { server: entry } }, { environment });
  return servers[0]?.transport ?? failed[0]?.problem;
};

describe('a configuration', () => {
  it('is read as other clients write it', () => {
    expect(read({ command: 'npx', args: ['-y', 'x'], env: { A: 'b' }, alwaysAllow: [], timeout: 3 })).toEqual({
      type: 'stdio',
      command: 'npx',
      args: ['-y', 'x'],
      env: { A: 'b' },
      cwd: undefined,
      shown: 'npx',
    });
    expect(read({ type: 'streamable-http', url: 'https://example.com/mcp' })).toMatchObject({
      type: 'http',
      headers: {},
    });
    expect(readMcpConfig({ servers: { a: { url: 'http://localhost:1/sse', type: 'sse' } } }).servers).toMatchObject([
      { name: 'a', transport: { type: 'sse' } },
    ]);
  });

  it.each([
    ['${A}/x', 'one/x'],
    ['${env:A}${B}', 'onetwo'],
    ['${NOT_SET:-http://d:1/${x}', 'http://d:1/${x'],
    ['${EMPTY:-other}', 'other'],
    ['${EMPTY}', ''],
    ['$A and $(A)', '$A and $(A)'],
    ['${B}', 'two'],
    ['${DOLLARS}', '$& $1 ${A}'],
  ])('%s becomes %s', (text, expanded) => {
    const environment = { A: 'one', B: 'two', EMPTY: '', DOLLARS: '$& $1 ${A}' };
    expect(read({ command: 'x', args: [text] }, environment)).toMatchObject({ args: [expanded] });
  });

  it.each([
    [
      { command: 'x', env: { A: '${NOPE}' } },
      'is not started: the environment variable NOPE is not set; set it, or write ${NOPE:-default}.',
    ],
    [
      { command: 'x', args: ['${input:token}'] },
      'is not started: "${input:token}" is not a reference to a variable; write ${NAME} or ${NAME:-default}.',
    ],
    [{ comand: 'x' }, 'or "openapi" (the document of an API); unknown members: "comand".'],
    [
      {},
      'is not started: it needs "command" (a program to start), "url" (a server to connect to) or "openapi" (the document of an API).',
    ],
    [{ command: 'x', url: 'http://x' }, 'is not started: it has both "command" and "url"; remove one of them.'],
    [
      { openapi: 'a.json', url: 'http://x' },
      'is not started: it has both "openapi" and "command" or "url"; remove one of them.',
    ],
    [
      { openapi: 'a.json', baseUrl: 'x' },
      'is not started: "baseUrl" must be an address that begins with http:// or https://.',
    ],
    [{ openapi: ['a'] }, 'is not started: "openapi" must be the path or the address of an OpenAPI document.'],
    [{ type: 'stdio', url: 'http://x' }, 'is not started: it needs "command"'],
    [{ url: 'file:///etc/passwd' }, 'is not started: "url" must be an address that begins with http:// or https://.'],
    [{ command: ['x'] }, 'is not started: "command" must be the name of a program.'],
    [
      { command: 'x', tools: { a: 'maybe' } },
      'is not started: "tools.a" is wrong: "tools" must be an object with "allow", "ask" or "block"',
    ],
    [{ command: 'x', callTimeoutMs: -1 }, 'is not started: "callTimeoutMs" must be a whole number of milliseconds'],
    [7, 'is not started: its entry must be an object with "command" or "url".'],
  ])('%j costs only its own server, in one sentence', (entry, problem) => {
    const { servers, failed } = readMcpConfig(
      { mcpServers: { server: entry, other: { command: 'y' } } },
      { environment: {} },
    );
    expect(servers.map(({ name }) => name)).toEqual(['other']);
    expect(failed[0]?.problem).toMatch(/^The MCP server "server" is not started: /u);
    expect(failed[0]?.problem).toContain(problem);
  });

  it('is shown without the values of its variables, which may be secrets', () => {
    const environment = { KEY: 'secret' };
    expect(read({ url: 'https://me:secret@example.com/${KEY}/mcp?key=secret#x' }, environment)).toMatchObject({
      shown: 'https://example.com/${KEY}/mcp',
    });
    expect(read({ command: '${KEY}/run' }, environment)).toMatchObject({ command: 'secret/run', shown: '${KEY}/run' });
  });

  it('costs only the server that the host refuses, with its variables expanded', () => {
    const refuse = ({ name, transport }: ServerToStart) =>
      transport.type === 'stdio' && transport.args.includes('/work') ? `${name} is not wanted` : undefined;
    const servers = { a: { command: 'x', args: ['${PLACE}'] }, b: { command: 'x' } };
    const read = readMcpConfig({ mcpServers: servers }, { environment: { PLACE: '/work' }, refuse });
    expect(read.servers.map(({ name }) => name)).toEqual(['b']);
    expect(read.failed).toEqual([{ name: 'a', problem: 'The MCP server "a" is not started: a is not wanted.' }]);
  });

  it.each([undefined, null, [], 'x', {}, { mcpServers: [] }, { mcpServers: 'x' }])('%j is none', (config) => {
    expect(() => readMcpConfig(config)).toThrow('The MCP configuration is not an object of servers. Write');
  });
});

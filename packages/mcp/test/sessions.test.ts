import { McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { HttpSessions } from '#mcp/gateway/http-sessions.js';

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

const HEADERS = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };

function openSessions() {
  const clock = { now: 0 };
  let released = 0;
  const sessions = new HttpSessions({
    open: () => ({ made: new McpServer({ name: 'test', version: '1' }), release: () => void (released += 1) }),
    now: () => clock.now,
  });
  const callerOf = (principal: string) => ({ principal, mayRun: false, mayDecide: false });
  const send = (principal: string, body: object, headers: object, onSession?: (end: () => void) => () => void) => {
    const request = new Request('http://127.0.0.1/mcp', { method: 'POST', headers: { ...HEADERS, ...headers } });
    return sessions.answer(request, { caller: callerOf(principal), body, onSession })!;
  };
  const begin = async (principal: string, onSession?: (end: () => void) => () => void) => {
    const answer = await send(principal, INITIALIZE, {}, onSession);
    await answer.text();
    return { status: answer.status, id: answer.headers.get('mcp-session-id') ?? '' };
  };
  const isOpen = async (principal: string, id: string) => {
    const ping = { jsonrpc: '2.0', id: 2, method: 'ping' };
    const answer = await send(principal, ping, { 'mcp-session-id': id, 'mcp-protocol-version': '2025-06-18' });
    await answer.text();
    return answer.status === 200;
  };
  return { begin, isOpen, clock, released: () => released };
}

describe('the sessions of a principal', () => {
  it('end for its own new ones, and never those of another principal', async () => {
    const { begin, isOpen, released } = openSessions();
    const other = await begin('bob');
    const first = await begin('ada');
    for (let count = 0; count < 60; count += 1) expect(await begin('ada')).toMatchObject({ status: 200 });
    expect(await isOpen('bob', other.id)).toBe(true);
    expect(await isOpen('ada', first.id)).toBe(false);
    expect(released()).toBe(11);
  });

  it('stay if all principals together have too many: a new principal waits until one is long unused', async () => {
    const { begin, isOpen, clock } = openSessions();
    const ids: string[] = [];
    for (let count = 0; count < 500; count += 1) ids.push((await begin(`user-${count % 20}`)).id);
    expect(await begin('late')).toMatchObject({ status: 503 });
    expect(await begin('user-0')).toMatchObject({ status: 200 });
    expect(await isOpen('user-0', ids[0]!)).toBe(false);
    expect(await isOpen('user-1', ids[1]!)).toBe(true);
    clock.now += 3_600_001;
    expect(await begin('late')).toMatchObject({ status: 200 });
  });

  it('tell their beginning, are ended from outside, and tell their end', async () => {
    const { begin, isOpen } = openSessions();
    const told: string[] = [];
    let end = () => {};
    const { id } = await begin('ada', (ending) => {
      end = ending;
      told.push('begun');
      return () => void told.push('ended');
    });
    expect(await isOpen('ada', id)).toBe(true);
    end();
    expect(await isOpen('ada', id)).toBe(false);
    expect(told).toEqual(['begun', 'ended']);
  });
});

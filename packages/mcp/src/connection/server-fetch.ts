import type { FetchLike } from '@modelcontextprotocol/client';
import { limitedSignal } from '@toolscript/core/internal';
import type { HttpTransport } from '../configuration/server-config.js';
import { mayBeCall, type CallAnswers } from './call-answers.js';
import { withLongIntegers, withoutMark } from '../tools/long-integers.js';
import { limitedAnswer } from './limited-answer.js';

/**
 * The fetch for all requests of a server's connection and login. The user has named the origin of the server, so only
 * requests to this origin get the configured headers, and perhaps that of the login service. Every other address comes from the server or from its login
 * service: such a request needs https and a public address. The SDK follows redirects only within an origin. `answers`:
 * the answers to the calls of the connection.
 */
export function serverFetch({ url: server, headers, login }: HttpTransport, answers?: CallAnswers): FetchLike {
  const issuer = login && new URL(login.issuer).origin;
  return async (address, init = {}) => {
    const url = new URL(address);
    // defence: mcp-login-services-are-limited
    if (url.origin === issuer && issuer !== server.origin) return limitedAnswer(await fetch(url, init));
    // defence: mcp-other-origins-are-guarded
    if (url.origin !== server.origin) return fetchPublic(url, init);
    const all = new Headers(headers);
    new Headers(init.headers).forEach((value, name) => all.set(name, withoutMark(value)));
    if (typeof init.body === 'string' && mayBeCall(init.body)) answers?.sent(parsedBody(init.body));
    // defence: mcp-http-answers-are-limited
    const body = typeof init.body === 'string' ? { body: withLongIntegers(init.body) } : {};
    return limitedAnswer(
      await fetch(url, { ...init, ...body, headers: all }),
      (text) => answers?.enveloped(text) ?? text,
    );
  };
}

/** The parsed body of a request; undefined for a body that is not JSON, such as that of a login. */
function parsedBody(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

async function fetchPublic(url: URL, init: RequestInit): Promise<Response> {
  // defence: mcp-other-origins-use-https
  if (url.protocol !== 'https:')
    throw new Error(
      `the server names an address that is not https, ${url.origin}, and it is not contacted; ask the operator of the server`,
    );
  const { AddressGuard, readBody, sendRequest, WEB_LIMITS } = await import('@toolscript/tools/internal');
  const request = new Request(url, init);
  const wanted = {
    url,
    method: request.method,
    headers: Object.fromEntries(request.headers),
    body: await request.text(),
  };
  const signal = limitedSignal(WEB_LIMITS.timeoutMs, request.signal);
  const answer = await sendRequest(wanted, { guard: new AddressGuard(), limits: WEB_LIMITS }, signal);
  const { statusCode: status = 502, headers } = answer;
  const bytes = await readBody(answer, url, WEB_LIMITS, signal);
  const pairs = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined || name === 'content-encoding' ? [] : [[name, String(value)]],
  );
  return new Response([204, 205, 304].includes(status) ? null : new Uint8Array(bytes), { status, headers: pairs });
}

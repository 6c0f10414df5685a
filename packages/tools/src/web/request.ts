import { request as requestHttp, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIPv4, type LookupFunction } from 'node:net';
import type { AddressGuard } from './guard.js';
import type { WebLimits } from './limits.js';
import { failedRequest } from './request-failure.js';

export interface WebRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  /** True: no caller waits for the response, so the request does not keep the process alive. */
  readonly isBackground?: boolean | undefined;
}

/** The guard and the limits that requests share. */
export interface RequestServices {
  readonly guard: AddressGuard;
  readonly limits: WebLimits;
}

/**
 * Sends one request, and follows no redirect. The name is resolved once; the connection goes to an address that the
 * guard has checked. The caller reads the body or destroys the response. Throws a ToolCallError.
 */
export async function sendRequest(
  wanted: WebRequest,
  { guard, limits }: RequestServices,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  try {
    const addresses = await guard.resolveAddresses(wanted.url, signal);
    return await responseTo(wanted, addresses, limits, signal);
  } catch (error) {
    throw failedRequest(error, wanted.url, limits);
  }
}

function responseTo(
  { url, method, headers, body, isBackground }: WebRequest,
  addresses: readonly string[],
  { maxHeaderBytes }: WebLimits,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? requestHttps : requestHttp;
    const request: ClientRequest = send(url, {
      method,
      headers: { 'user-agent': 'Toolscript', ...headers },
      // A new connection goes to the checked address. A kept-alive connection was checked for another request.
      agent: false,
      // defence: connects-to-the-checked-address
      lookup: answerWith(addresses),
      maxHeaderSize: maxHeaderBytes,
      signal,
    });
    if (isBackground === true) request.on('socket', (socket) => socket.unref());
    request.on('response', resolve);
    request.on('upgrade', () => reject(new Error('the server requested a protocol other than HTTP')));
    request.on('error', reject);
    request.end(body);
  });
}

/** Creates a lookup function that returns the checked addresses, so that the name is not resolved again. */
function answerWith(addresses: readonly string[]): LookupFunction {
  const answers = addresses.map((address) => ({ address, family: isIPv4(address) ? 4 : 6 }));
  return (_host, { all }, callback) => {
    if (all === true) callback(null, answers);
    else callback(null, answers[0]!.address, answers[0]!.family);
  };
}

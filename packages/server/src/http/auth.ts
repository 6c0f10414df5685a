import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  callerOfToken,
  textDigest,
  hasScope,
  isLoopback,
  KnownOrigins,
  SCOPES,
  type AccessLimits,
  type ApiKeyStore,
  type Caller,
  type OriginOptions,
  type Scope,
} from '../access/index.js';
import { LOCAL_PRINCIPAL } from '@toolscript/service';
import { addCorsHeaders, isPreflight } from './cors.js';
import type { KnownRoutes } from './known-routes.js';
import { ProblemError, unknownRoute } from './problems.js';
import { openRateLimits, type RateLimits } from './rate-limits.js';

export interface AuthOptions extends OriginOptions {
  /** The token of this machine's user, who has all permissions. It is valid only in requests from this machine. */
  readonly token?: string | undefined;
  /**
   * The store of API keys, such as `new KeyFolder(path)` for the folder in which `toolscript keys add` stores keys. If
   * the store has all functions of `ApiKeyStore`, administrators can also list, create and revoke keys at
   * `/api/v2/keys`.
   */
  readonly keys?: (Pick<ApiKeyStore, 'get'> & Partial<ApiKeyStore>) | undefined;
  /** Finds the caller of any other token. Returns undefined if the token is invalid. */
  readonly authenticate?:
    | ((token: string, request: FastifyRequest) => Caller | undefined | Promise<Caller | undefined>)
    | undefined;
  /**
   * Addresses of proxies in front of the server, whose `X-Forwarded-For` contains the client's address. Default: none.
   */
  readonly trustedProxies?: readonly string[] | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller;
  }
  interface FastifyContextConfig {
    /** The permission that a caller needs for the route. `public`: the caller needs no token. Default: `admin`. */
    scope?: Scope | 'public' | undefined;
  }
}

/**
 * Checks Host, Origin, rate, path and method of every request before any other step. For a route that is not public,
 * also checks the token and its scopes. No body is read before these checks.
 */
export async function guard(
  app: FastifyInstance,
  options: AuthOptions,
  limits: AccessLimits,
  routes: KnownRoutes,
): Promise<void> {
  const known = new KnownOrigins(options);
  const rates = await openRateLimits(app, limits);
  app.decorateRequest('caller', null as unknown as Caller);
  app.addHook('onRequest', async (request, reply) => {
    checkProxy(request);
    checkHost(request, known);
    checkOrigin(request, reply, known);
    await rates.countAddress(request);
    if (isPreflight(request)) return reply.code(204).send();
    // defence: unknown-routes-precede-bodies
    if (request.is404) throw unknownRoute(request, routes);
    const { scope = 'admin' } = request.routeOptions.config;
    if (scope === 'public') return undefined;
    // A copy, because `authenticate` may return the same caller for several requests.
    request.caller = { ...(await requestCaller(request, options, rates)) };
    // defence: scope-of-route
    if (!hasScope(request.caller, scope))
      throw new ProblemError(
        403,
        `The request needs the scope "${scope}", and your key does not have this scope. Create a key that has it: toolscript keys add NAME --scopes ${scope}`,
      );
    return undefined;
  });
}

/** A header that only proxies set. */
const PROXY_HEADER = /^(?:x-forwarded-.*|forwarded|x-real-ip|via)$/u;

/**
 * Refuses a proxy on this machine that is not trusted or does not name its client: all of its clients would count as
 * this machine.
 */
function checkProxy({ headers, socket, ips = [] }: FastifyRequest): void {
  const { remoteAddress = '' } = socket;
  // defence: local-proxies-name-their-clients
  if (ips.length < 2 && isLoopback(remoteAddress) && Object.keys(headers).some((name) => PROXY_HEADER.test(name)))
    throw new ProblemError(
      403,
      `A proxy on this machine has sent the request without a client that the server trusts. Start the server with --trusted-proxy ${remoteAddress}, and let the proxy set X-Forwarded-For.`,
    );
}

function checkHost({ headers, raw, socket }: FastifyRequest, known: KnownOrigins): void {
  const sent = raw.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
  if (sent !== 1) throw new ProblemError(400, 'The request has no Host header, or several. Send exactly one.');
  if (!known.knowsHost(headers.host, socket.localAddress))
    throw new ProblemError(
      403,
      'The server does not accept the host name of the request. Add the name with the option hosts, or --allow-host NAME on the command line.',
    );
}

function checkOrigin(request: FastifyRequest, reply: FastifyReply, known: KnownOrigins): void {
  const { origin, host = '' } = request.headers;
  if (origin === undefined) return;
  if (!known.knowsOrigin(origin, host))
    throw new ProblemError(
      403,
      'Pages of this origin may not call the server. Add the origin with the option origins, or --allow-origin ORIGIN on the command line.',
    );
  if (known.isConfigured(origin)) addCorsHeaders(request, reply, origin);
}

async function requestCaller(request: FastifyRequest, options: AuthOptions, rates: RateLimits): Promise<Caller> {
  const { token, keys, authenticate } = options;
  const given = /^Bearer (\S{1,4096})$/iu.exec(request.headers.authorization ?? '')?.[1];
  if (given === undefined)
    throw await rates.countFailure(
      request,
      'The request has no token. Send your token with "Authorization: Bearer TOKEN".',
    );
  if (token !== undefined && isSame(given, token)) {
    // defence: local-token-from-this-machine
    if (!isLoopback(request.ip))
      throw await rates.countFailure(
        request,
        'This token is valid only on the server’s own machine. Create an API key there: toolscript keys add NAME.',
      );
    return { principal: LOCAL_PRINCIPAL, scopes: SCOPES };
  }
  const ofKey = keys === undefined ? undefined : await callerOfToken(keys, given);
  const caller = ofKey ?? (await authenticate?.(given, request));
  if (caller === undefined)
    throw await rates.countFailure(
      request,
      'The token is unknown or expired. Use the token that the server printed at its start, or an API key: toolscript keys add NAME.',
    );
  await rates.countPrincipal(request, caller);
  return caller;
}

function isSame(given: string, token: string): boolean {
  return timingSafeEqual(textDigest(given), textDigest(token));
}

import { Socket } from 'node:net';
import fastify, { LogController, type FastifyInstance } from 'fastify';
import { validatorCompiler } from 'fastify-type-provider-zod';
import type { AccessLimits } from '../access/index.js';
import { redactedLogger } from '../observability/index.js';
import { guard } from './auth.js';
import { answerBrokenRequest } from './connection-problems.js';
import { acceptJsonAlone } from './json-body.js';
import { KnownRoutes } from './known-routes.js';
import { limitLargeReads } from './large-reads.js';
import { answerFrameworkError, answerWithProblems, MAX_BODY_MIB } from './problems.js';
import type { ServerOptions } from './server-options.js';
import { unreadBody } from './read-body.js';
import { closeUnreadBody } from './unread-body.js';

/** Maximum size of a request's headers, in bytes. */
const HEADERS_LIMIT = 16 * 1024;

/** The interval between checks for requests that arrive too slowly, in ms. */
const SLOW_CHECK_MS = 1_000;

export type AppOptions = Pick<ServerOptions, 'auth' | 'logger' | 'secrets' | 'basePath'>;

/** An app without routes. It checks every request as `guard` describes. */
export async function openApp(options: AppOptions, limits: AccessLimits): Promise<FastifyInstance> {
  const { trustedProxies = [] } = options.auth;
  const app = fastify({
    logger: redactedLogger(options.logger, [options.auth.token, ...(options.secrets ?? [])]),
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MAX_BODY_MIB * 1024 * 1024,
    requestTimeout: limits.requestTimeoutMs,
    http: {
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: SLOW_CHECK_MS,
      maxHeaderSize: HEADERS_LIMIT,
      requireHostHeader: false,
    },
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: answerFrameworkError,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    forceCloseConnections: true,
    // A draining server answers as before, but accepts no prompts.
    return503OnClosing: false,
    routerOptions: { maxParamLength: 256 },
    genReqId: () => crypto.randomUUID(),
    rewriteUrl: ({ url = '/' }) => withoutBase(url, options.basePath ?? ''),
  });
  app.setValidatorCompiler(validatorCompiler);
  // Responses are not validated: tests compare them with the schemas.
  app.setSerializerCompiler(() => JSON.stringify);
  acceptJsonAlone(app);
  app.addHook('preParsing', async ({ raw }, _reply, payload) => unreadBody(raw, payload));
  const routes = new KnownRoutes(app);
  answerWithProblems(app);
  app.addHook('onSend', async (request, reply) => closeUnreadBody(request, reply));
  dropStalledReaders(app, limits);
  await guard(app, options.auth, limits, routes);
  limitLargeReads(app, limits);
  return app;
}

/**
 * Disconnects a client that does not read its response, because the unread response takes memory. Streams have their
 * own timeout.
 */
function dropStalledReaders(app: FastifyInstance, { stallTimeoutMs }: AccessLimits): void {
  // defence: stalled-readers
  app.addHook('onSend', async ({ raw: { socket } }) => {
    // A request from `inject` has no connection.
    if (socket instanceof Socket) socket.setTimeout(stallTimeoutMs);
  });
}

/** Removes the base path, which consists of whole segments. The app around the server may have removed it. */
function withoutBase(url: string, basePath: string): string {
  const base = basePath.replace(/\/$/u, '');
  const rest = url.startsWith(base) ? url.slice(base.length) : url;
  // defence: base-path-of-whole-segments
  if (rest.startsWith('/')) return rest;
  return rest === '' || rest.startsWith('?') || !url.startsWith('/') ? `/${rest}` : url;
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { accessLimits } from '../access/index.js';
import { openApp } from './open-app.js';
import { describeApi } from './openapi.js';
import { openService } from './open-service.js';
import { openParts } from './server-parts.js';
import { checkOptions, DEFAULT_WORKERS, SERVER_ROLES, type ServerOptions } from './server-options.js';
import { pageRoutes } from './page.js';
import { showRootPage } from './root-page.js';
import { responseRoutes } from '../responses/index.js';
import { approvalRoutes } from './routes/approvals.js';
import { mcpRoute } from './routes/mcp.js';
import { metricsRoute } from './routes/metrics.js';
import { auditRoute } from './routes/audit.js';
import { changesRoute } from './routes/changes.js';
import { fileRoutes } from './routes/files.js';
import { healthRoutes } from './routes/health.js';
import { imageRoute } from './routes/images.js';
import { keyRoutes } from './routes/keys.js';
import { providerRoutes } from './routes/providers.js';
import { registryRoutes } from './routes/registry.js';
import { undoRoutes } from './routes/undo.js';
import { ruleRoutes } from './routes/rules.js';
import { workspaceRuleRoute } from './routes/workspace-rule.js';
import { runRoutes } from './routes/runs.js';
import { savedRoutes } from './routes/saved.js';
import { scriptRoutes } from './routes/scripts.js';
import { streamRoute } from './routes/stream.js';
import { submitRoute } from './routes/submit.js';
import { threadRoutes } from './routes/threads.js';
import { isReady, withFetch, type ToolscriptServer } from './web-fetch.js';

/**
 * The service as a Fastify instance: `listen` opens the service, and `close` drains and closes it. The work on runs
 * begins when the instance is ready. `close` also closes the stores and the agents that this function opened.
 */
export async function createServer(options: ServerOptions): Promise<ToolscriptServer> {
  checkOptions(options);
  const limits = accessLimits(options.limits, options.workers ?? DEFAULT_WORKERS);
  const app = await openApp(options, limits);
  await describeApi(app, options.basePath ?? '');
  const service = openService(app, options, {
    ...(await openParts(options, [options.auth.token ?? '', ...(options.secrets ?? [])])),
    limits,
  });
  const { roles = SERVER_ROLES } = options;
  await app.register(async (scope) => {
    service.streams.requireRegistration(scope);
    healthRoutes(scope, service);
    metricsRoute(scope, service.metrics);
    if (!roles.includes('api')) return;
    submitRoute(scope, service);
    runRoutes(scope, service);
    streamRoute(scope, service);
    threadRoutes(scope, service);
    fileRoutes(scope, service);
    savedRoutes(scope, service);
    approvalRoutes(scope, service);
    workspaceRuleRoute(scope, service);
    registryRoutes(scope, service);
    if (options.mcp !== undefined) mcpRoute(scope, options.mcp, service);
    await scope.register((inner) => rootRoutes(inner, options));
    await scope.register((inner) => responseRoutes(inner, service), { prefix: '/v1' });
    imageRoute(scope, service);
    auditRoute(scope, service);
    changesRoute(scope, service);
    keyRoutes(scope, service, options.auth.keys);
    ruleRoutes(scope, options.rules);
    providerRoutes(scope, options.models);
    scriptRoutes(scope, service);
    undoRoutes(scope, service, options.undo);
    scope.get('/openapi.json', { config: { scope: 'public' }, schema: { hide: true } }, () => app.swagger());
  });
  return withFetch(app);
}

async function rootRoutes(scope: FastifyInstance, { page, basePath = '' }: ServerOptions): Promise<void> {
  if (page !== undefined) return pageRoutes(scope, page, basePath);
  scope.get('/', { config: { scope: 'public' }, schema: { hide: true } }, showRootPage);
}

/**
 * The server as a request handler for Node's `http`, Express, Next and other apps that listen themselves. A body
 * that the app has read before must be in `request.rawBody` or `request.body`. The server's `close` drains it as usual.
 */
export function nodeHandler(app: FastifyInstance): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    void isReady(app).then((ready) => (ready ? app.routing(request, response) : response.writeHead(503).end()));
  };
}

import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fastifyStatic from '@fastify/static';
import { ToolscriptUsageError } from '@toolscript/core/protocol';
import type { FastifyInstance, FastifyReply } from 'fastify';

/**
 * The page loads resources only from this server, except images in `data:` URLs, and scripts only from files. No page
 * may frame it.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "base-uri 'self'",
  "connect-src 'self'",
  "font-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "img-src 'self' data:",
  "object-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** Matches the paths of files whose names contain a hash of their content. */
const HASHED = /\/assets\/[^/]+$/u;
const ONE_YEAR_S = 31_536_000;

/** Paths of the page's own views. The server answers all of them with `index.html`. */
const VIEWS = ['/', '/threads/:threadId', '/settings', '/settings/:section'] as const;

/**
 * Serves the web page from a folder of built files. The page is public: it contains no data, and asks its user for a
 * token.
 *
 * @throws ToolscriptUsageError if the folder has no `index.html`.
 */
export async function pageRoutes(app: FastifyInstance, folder: string, basePath: string): Promise<void> {
  const root = resolve(folder);
  const index = join(root, 'index.html');
  if (!existsSync(index)) throw new ToolscriptUsageError('PAGE_NOT_BUILT', { root });
  const html = readFileSync(index, 'utf8').replace('<base href="/" />', `<base href="${escapedHtml(basePath)}/" />`);
  const options = { config: { scope: 'public' as const }, schema: { hide: true } };
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, scope: 'public' };
    route.schema = { ...route.schema, hide: true };
  });
  await app.register(fastifyStatic, {
    root,
    wildcard: false,
    index: false,
    cacheControl: false,
    globIgnore: ['**/index.html', '**/*.{br,gz}'],
    preCompressed: true,
    setHeaders: (response, path) => setFileHeaders(response, path.slice(root.length).replaceAll('\\', '/')),
  });
  for (const view of VIEWS) app.get(view, options, (_request, reply) => sendIndex(reply, html));
}

function sendIndex(reply: FastifyReply, html: string): FastifyReply {
  return reply
    .headers({ ...PAGE_HEADERS, 'cache-control': 'no-cache' })
    .type('text/html; charset=utf-8')
    .serializer((page: unknown) => String(page))
    .send(html);
}

function setFileHeaders(response: { setHeader(name: string, value: string): unknown }, path: string): void {
  // defence: page-policy
  for (const [name, value] of Object.entries(PAGE_HEADERS)) response.setHeader(name, value);
  const isHashed = HASHED.test(path);
  // The answer depends on the encodings that the browser takes.
  response.setHeader('vary', 'accept-encoding');
  response.setHeader('cache-control', isHashed ? `public, max-age=${ONE_YEAR_S}, immutable` : 'no-cache');
}

function escapedHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}

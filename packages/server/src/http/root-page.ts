import type { FastifyReply, FastifyRequest } from 'fastify';

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Toolscript</title>
<style>body { font: 1rem/1.5 system-ui; max-width: 42rem; margin: 4rem auto; padding: 0 1rem } pre { overflow-x: auto }</style>
<h1>Toolscript</h1>
<p>This server runs agents that call tools from scripts. It has no user interface here: use it over HTTP, with the token after <code>#token=</code> in the address that it printed.</p>
<pre>curl -H "Authorization: Bearer TOKEN" -H "Content-Type: application/json" \\
  -d '{"prompt":"hello"}' ADDRESS/api/v2/submit</pre>
<p><a href="openapi.json">openapi.json</a> describes all routes.</p>
</html>
`;

/** Shows a page to a user who opens the address that the server printed. */
export function showRootPage(_request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
    .header('referrer-policy', 'no-referrer')
    .header('x-content-type-options', 'nosniff')
    .serializer((page: unknown) => String(page))
    .send(PAGE);
}

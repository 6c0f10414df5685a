import { ResourceNotFoundError, ResourceTemplate, type McpServer } from '@modelcontextprotocol/server';
import type { GatewayServices } from './services.js';

const SCHEME = 'toolscript:';

/** Registers the declarations of each namespace, and the last scripts, as resources. */
export function registerResources(server: McpServer, { harness, past, offered, ready }: GatewayServices): void {
  const template = new ResourceTemplate(`${SCHEME}//declarations/{namespace}`, {
    list: () => ({
      resources: offered().namespaces.map((namespace) => ({
        uri: `${SCHEME}//declarations/${namespace}`,
        name: `declarations of ${namespace}`,
        mimeType: 'text/plain',
      })),
    }),
  });
  const description = 'TypeScript declarations of the tools of one namespace';
  const kind = { description, mimeType: 'text/plain' };
  server.registerResource('declarations', template, kind, async (uri, { namespace }) => {
    await ready?.();
    const text = declarations(harness, String(namespace), uri);
    return { contents: [{ uri: uri.href, mimeType: 'text/plain', text }] };
  });
  const about = { description: 'The last scripts and their results', mimeType: 'application/json' };
  server.registerResource('scripts', `${SCHEME}//scripts`, about, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'application/json', text: JSON.stringify(past.list(), undefined, 2) }],
  }));
}

/** The declarations of a namespace. Throws for a namespace without tools. */
function declarations(harness: GatewayServices['harness'], namespace: string, uri: URL): string {
  const catalog = harness.catalog();
  const inside =
    namespace === 'tools' ? catalog.list().filter(({ name }) => !name.includes('.')) : catalog.list(namespace);
  if (inside.length === 0) throw new ResourceNotFoundError(uri.href);
  return inside.map(({ name }) => catalog.describe(name)).join('\n');
}

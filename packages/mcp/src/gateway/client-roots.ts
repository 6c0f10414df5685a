import type { McpServer } from '@modelcontextprotocol/server';
import { fileURLToPath } from 'node:url';

/** Reports the folders of the connected client, as absolute paths, when it has connected and when they change. */
export function followRoots({ server }: McpServer, onRoots: ((roots: readonly string[]) => void) | undefined): void {
  if (onRoots === undefined) return;
  const ask = async () => {
    if (server.getClientCapabilities()?.roots === undefined) return;
    const { roots } = await server.listRoots();
    onRoots(roots.flatMap(({ uri }) => rootFolder(uri) ?? []));
  };
  // A client that announces roots but fails to list them counts as a client without roots.
  const tryAsking = () => void ask().catch(() => {});
  server.oninitialized = tryAsking;
  server.setNotificationHandler('notifications/roots/list_changed', tryAsking);
}

function rootFolder(uri: string): string | undefined {
  try {
    return fileURLToPath(uri);
  } catch {
    return undefined;
  }
}

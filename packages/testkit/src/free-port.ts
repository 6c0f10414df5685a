import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * A free port below those that systems give to connections (from 32768 or 49152): no connection takes it before its server
 * starts, or while its server restarts. It plus 10 000, the bus of a node of a Redis cluster, is such a port too.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + randomInt(10_000);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

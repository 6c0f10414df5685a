import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { visibleLine } from '../terminal/untrusted.js';
import { systemCode, UsageError } from '../usage-error.js';

interface App {
  listen(place: { host: string; port: number }): Promise<string>;
  readonly server: Server;
}

/** Opens a server at an address. Throws a UsageError with the option to change if the server cannot use the address. */
export async function listenAt(app: App, host: string, port: number, option: string): Promise<AddressInfo> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const code = systemCode(error);
    const where = `${visibleLine(host)}:${port}`;
    if (code === 'EADDRINUSE')
      throw new UsageError(`Another program listens at ${where}. End it, or choose another port with ${option}.`);
    throw new UsageError(
      `The server cannot listen on ${where} (${code ?? 'unknown error'}). Choose another host, or another port with ${option}.`,
    );
  }
  return app.server.address() as AddressInfo;
}

import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { convexTest } from 'convex-test';
import { makeFunctionReference } from 'convex/server';
import { convexToJson, jsonToConvex, type Value } from 'convex/values';
import schema from '../../../convex/schema.js';

export const SECRET = 'the secret of a deployment that exists only in tests';

/** The module that marks a Convex project; `toolscript.ts` needs nothing from it. */
const MODULES = {
  '/convex/_generated/api.js': async () => ({}),
  '/convex/toolscript.ts': () => import('../../../convex/toolscript.js'),
};

interface FunctionCall {
  readonly path: string;
  readonly args: [never];
}

/**
 * Convex's own test backend, with the product's schema and functions, over the HTTP interface that the real client
 * calls. It is no Convex server: there are no limits of size, and one transaction is executed after the other.
 */
export class ConvexDeployment {
  readonly #backend = convexTest({ schema, modules: MODULES });
  /** Paths of the functions that were called. */
  readonly calls: string[] = [];
  /** Answers with this status instead. */
  failure: number | undefined;
  #server: Server | undefined;
  #port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async listen(): Promise<this> {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => void this.#respond(request.url ?? '', Buffer.concat(chunks).toString(), response));
    });
    await new Promise<void>((resolve) => this.#server!.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  async close(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  /** Numbers of rows, by table. */
  async rows(): Promise<readonly [number, number]> {
    return this.#backend.run(async ({ db }) => [
      (await db.query('toolscriptRuns').collect()).length,
      (await db.query('toolscriptItems').collect()).length,
    ]);
  }

  async #respond(url: string, text: string, response: ServerResponse): Promise<void> {
    if (this.failure !== undefined) return void response.writeHead(this.failure).end('no');
    const { status, body } = await this.#answer(url, JSON.parse(text) as FunctionCall);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  async #answer(url: string, { path, args: [encoded] }: FunctionCall): Promise<{ status: number; body: object }> {
    this.calls.push(path);
    const args = jsonToConvex(encoded) as never;
    try {
      const value = url.endsWith('/query')
        ? await this.#backend.query(makeFunctionReference<'query'>(path), args)
        : await this.#backend.mutation(makeFunctionReference<'mutation'>(path), args);
      return { status: 200, body: { status: 'success', value: convexToJson(value as Value), logLines: [] } };
    } catch (error) {
      const { message, data } = error as { message: string; data?: Value };
      const errorData = typeof data === 'string' ? (JSON.parse(data) as object) : data;
      return { status: 560, body: { status: 'error', errorMessage: message, errorData, logLines: [] } };
    }
  }
}

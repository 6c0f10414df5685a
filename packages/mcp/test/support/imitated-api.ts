import type { IncomingMessage, ServerResponse } from 'node:http';
import { writeFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { listen } from './http-servers.js';

/** A request that an imitated API has received. */
interface ReceivedRequest {
  readonly method: string;
  /** The path and the query. */
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

type Answer = (request: ReceivedRequest, response: ServerResponse) => unknown;

/** An API on this machine: its origin, and all that it has received. */
export async function imitatedApi(answer: Answer) {
  const received: ReceivedRequest[] = [];
  const url = await listen(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url: path = '', headers } = request;
    const one = { method, url: path, headers, body: Buffer.concat(chunks).toString() };
    received.push(one);
    await answer(one, response);
  });
  return { origin: new URL(url).origin, received };
}

export function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** The path of a file with a text, which is deleted when the test has ended. */
export async function temporaryFile(name: string, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'toolscript-openapi-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

/** A document of OpenAPI 3.0 with the paths, and a schema `Pet`. */
export function petDocument(paths: object, more: object = {}): object {
  return {
    openapi: '3.0.3',
    info: { title: 'Pets', version: '1.2.0' },
    paths,
    components: { schemas: { Pet: PET, ...SCHEMAS } },
    ...more,
  };
}

const PET = {
  type: 'object',
  required: ['id', 'name'],
  properties: {
    id: { type: 'integer', readOnly: true },
    name: { type: 'string' },
    tag: { type: 'string', nullable: true },
    parent: { $ref: '#/components/schemas/Pet' },
  },
};

const SCHEMAS = {
  Page: {
    type: 'object',
    required: ['items', 'next'],
    properties: {
      items: { type: 'array', items: { $ref: '#/components/schemas/Pet' } },
      next: { type: 'integer', nullable: true },
    },
  },
};

export const jsonBody = (schema: object) => ({ content: { 'application/json': { schema } } });
export const ok = (schema: object) => ({ 200: { description: 'OK', ...jsonBody(schema) } });
export const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

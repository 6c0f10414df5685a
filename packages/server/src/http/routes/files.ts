import { filePlace, present } from '@toolscript/core/internal';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { notFoundProblem } from '../problems.js';
import { FileSchema, IdSchema, ListQuerySchema, pageSchema } from '../schemas.js';
import type { Service } from '../service.js';
import { fileView } from '../views.js';
import { ownThread, typedInstance, type Routes } from './threads.js';

const FilesParameters = z.object({ threadId: IdSchema });
/** The client sends a "/" in a key as %2F. */
const FileParameters = FilesParameters.extend({ fileKey: z.string().min(1).max(256) });

/** Routes that list, show, download and delete the files of a thread. */
export function fileRoutes(instance: FastifyInstance, service: Service): void {
  const app = typedInstance(instance);
  listRoute(app, service);
  versionsRoute(app, service);
  textRoute(app, service);
  deleteRoute(app, service);
}

function listRoute(app: Routes, service: Service): void {
  app.route({
    method: 'GET',
    url: '/api/v2/threads/:threadId/files',
    config: { scope: 'read' },
    schema: {
      operationId: 'listFiles',
      description: 'Lists the files of a thread by key, each with its newest version.',
      params: FilesParameters,
      querystring: ListQuerySchema.extend({ prefix: z.string().max(256).optional() }),
      response: { 200: pageSchema(FileSchema) },
    },
    handler: async (request) => {
      const { scope, kind } = filePlace((await ownThread(service, request)).threadId, '');
      const page = await service.stores.documents.list({ scope, kind, ...present(request.query) });
      return { data: page.documents.map(fileView), next: page.next };
    },
  });
}

function versionsRoute(app: Routes, service: Service): void {
  app.route({
    method: 'GET',
    url: '/api/v2/threads/:threadId/files/:fileKey',
    config: { scope: 'read' },
    schema: {
      operationId: 'listFileVersions',
      description: 'Lists the stored versions of a file, the newest first.',
      params: FileParameters,
      response: { 200: z.object({ data: z.array(FileSchema) }) },
    },
    handler: async (request) => {
      const { threadId } = await ownThread(service, request);
      const { fileKey } = request.params;
      const versions = await service.stores.documents.versions(filePlace(threadId, fileKey));
      if (versions.length === 0) throw notFoundProblem('file', fileKey);
      return { data: versions.map(fileView) };
    },
  });
}

function textRoute(app: Routes, service: Service): void {
  app.route({
    method: 'GET',
    url: '/api/v2/threads/:threadId/files/:fileKey/text',
    config: { scope: 'read' },
    schema: {
      operationId: 'downloadFile',
      description: 'The text of a file, as a download.',
      params: FileParameters,
      querystring: z.object({ version: z.coerce.number().int().min(1).optional() }),
      answers: { 200: { 'text/plain': z.string() } },
    },
    handler: async (request, reply) => {
      const { threadId } = await ownThread(service, request);
      const { fileKey } = request.params;
      const file = await service.stores.documents.read(filePlace(threadId, fileKey), request.query.version);
      if (file === undefined) throw notFoundProblem('file', fileKey);
      return reply
        .headers({
          // The text may come from a web page, so the browser must not execute it.
          'x-content-type-options': 'nosniff',
          'content-security-policy': "default-src 'none'; sandbox",
          'content-disposition': attachmentHeader(fileKey),
          'cache-control': 'no-store',
        })
        .type('text/plain; charset=utf-8')
        .send(file.text as never);
    },
  });
}

function deleteRoute(app: Routes, service: Service): void {
  app.route({
    method: 'DELETE',
    url: '/api/v2/threads/:threadId/files/:fileKey',
    config: { scope: 'run', audit: 'file_deleted' },
    schema: {
      operationId: 'deleteFile',
      description: 'Deletes a file with all its versions.',
      params: FileParameters,
      answers: { 204: {} },
    },
    handler: async (request, reply) => {
      const { threadId } = await ownThread(service, request);
      const { fileKey } = request.params;
      if (!(await service.stores.documents.delete(filePlace(threadId, fileKey))))
        throw notFoundProblem('file', fileKey);
      return reply.code(204).send();
    },
  });
}

/** A header for a download (RFC 6266), with the name in ASCII and in UTF-8. */
function attachmentHeader(fileKey: string): string {
  const name = fileKey
    .split('/')
    .at(-1)!
    .replaceAll(/\p{Surrogate}/gu, '_');
  const ascii = name.replaceAll(/[^\w.-]/gu, '_');
  const encoded = encodeURIComponent(name).replaceAll(/['()*]/gu, (one) => `%${one.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

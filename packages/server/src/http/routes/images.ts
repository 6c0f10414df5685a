import { collectImages, foldResponseAsync, resolveImages } from '@toolscript/core/history';
import type { ImagePart, OutputItem, Run } from '@toolscript/core/protocol';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { storedEvents } from '@toolscript/service';
import { z } from 'zod';
import { notFoundProblem, ProblemError } from '../problems.js';
import { IdSchema } from '../schemas.js';
import type { Service } from '../service.js';
import { ownRun, RunParameters } from './runs.js';

const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const ImageBytesSchema = z.string().meta({ format: 'binary' });

const ImageParameters = RunParameters.extend({ sha256: IdSchema });

/** The route for the bytes of images to which results refer. */
export function imageRoute(instance: FastifyInstance, service: Service): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.route({
    method: 'GET',
    url: '/api/v2/runs/:runId/images/:sha256',
    config: { scope: 'read' },
    schema: {
      operationId: 'getImage',
      description: 'The bytes of an image that a result of the run names by its SHA-256.',
      params: ImageParameters,
      answers: { 200: Object.fromEntries(IMAGE_TYPES.map((type) => [type, ImageBytesSchema])) },
    },
    handler: async (request, reply) => {
      const run = await ownRun(service, request);
      const { sha256 } = request.params;
      const { items, image } = await namedImage(service, run, sha256);
      // defence: images-of-the-run-alone
      if (image === undefined) throw notFoundProblem('image', sha256);
      const [part] = await resolveImages([image], { within: items, ...(await imageSource(service, run)) });
      if (part?.type !== 'image')
        throw new ProblemError(
          404,
          'The image was deleted, or its file has changed since the result was created. View the image again in a new script.',
        );
      return reply
        .headers({ 'x-content-type-options': 'nosniff', 'content-security-policy': "default-src 'none'; sandbox" })
        .type(part.media_type)
        .send(Buffer.from(part.data, 'base64') as never);
    },
  });
}

/** Finds the image in the run's items. `image` is undefined if no item contains it. */
async function namedImage(
  { stores }: Service,
  { runId }: Run,
  sha256: string,
): Promise<{ items: readonly OutputItem[]; image: ImagePart | undefined }> {
  const items = (await foldResponseAsync(storedEvents(stores, runId))).output_items;
  const named = items.flatMap((item) => collectImages([item]).images);
  return { items, image: named.find((image) => image.sha256 === sha256) };
}

/** The loader of the run's agent, for images that have a path. */
async function imageSource({ agents }: Service, { options }: Run) {
  const served = await agents.find((options as { agentId?: string | undefined }).agentId);
  const loadImage = (await served?.open({}))?.loadImage;
  return loadImage === undefined ? {} : { loadImage };
}

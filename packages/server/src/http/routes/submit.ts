import { createHash } from 'node:crypto';
import { answerSchemaProblem } from '../answer-schema.js';
import { userMessage } from '@toolscript/core/agent';
import { readFilePart } from '@toolscript/core/history';
import type { FilePart, ImagePart, NewThread, OutputItem, TraceContext } from '@toolscript/core/protocol';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { imageIn, MAX_IMAGE_MB } from '../images.js';
import { requestTrace } from '../../observability/index.js';
import { agentNeed, allowedModels, inputTitle, type ServedAgent } from '@toolscript/service';
import { notFoundProblem, ProblemError } from '../problems.js';
import { refuseFullQueue, storageBounds } from '../queue-limit.js';
import { SubmitBodySchema, SubmittedSchema, type UserMessage } from '../schemas.js';
import type { Service } from '../service.js';

type SubmitBody = z.infer<typeof SubmitBodySchema>;

/** The route that begins a run. */
export function submitRoute(instance: FastifyInstance, service: Service): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.route({
    method: 'POST',
    url: '/api/v2/submit',
    config: { scope: 'run', audit: 'run_submitted' },
    schema: {
      operationId: 'submit',
      description: 'Starts a run: sends the prompt to an agent, in a new thread or in one of yours.',
      body: SubmitBodySchema,
      headers: z.object({ 'idempotency-key': z.string().min(1).max(256).optional() }),
      response: { 202: SubmittedSchema },
    },
    handler: async (request, reply) => {
      const circumstances = {
        idempotencyKey: request.headers['idempotency-key'],
        trace: requestTrace(request.raw.headers),
      };
      const submitted = await submit(service, request.caller.principal, request.body, circumstances);
      service.requestAudit.note(request, submitted);
      return reply.code(202).send(submitted);
    },
  });
}

interface Circumstances {
  readonly idempotencyKey: string | undefined;
  readonly trace: TraceContext | undefined;
}

async function submit(service: Service, principal: string, body: SubmitBody, { idempotencyKey, trace }: Circumstances) {
  const { stores, workspace } = service;
  if (service.isDraining)
    throw new ProblemError(503, 'The server is stopping. Submit the prompt again after the restart.');
  await refuseFullQueue(service, principal);
  const { threadId, branchBefore, prompt, model, overrides, outputSchema } = body;
  const problem = answerSchemaProblem(outputSchema);
  if (problem !== undefined) throw new ProblemError(400, problem);
  const input = inputItems(body.input ?? [{ content: prompt! }], idempotencyKey);
  const thread = threadId === undefined ? undefined : await stores.threads.get(threadId, { principal });
  if (threadId !== undefined && thread === undefined) throw notFoundProblem('thread', threadId);
  const agentId = body.agentId ?? thread?.agentId;
  const served = await requireAgent(service, agentId);
  const { slug } = served.config;
  // defence: submitters-choose-listed-models
  if (model !== undefined && !allowedModels(served.config).includes(model))
    throw new ProblemError(
      400,
      `The agent ${slug} does not allow the model ${JSON.stringify(model)}. Omit "model" to use the agent's own, or add the model to the agent's "models".`,
    );
  const created = await stores.runs.create({
    principal,
    thread: threadFor({ threadId, branchBefore }, { title: inputTitle(input), workspace, agentId: slug }),
    input,
    options: {
      agentId: slug,
      model,
      overrides,
      outputSchema,
      trace,
    },
    needs: [agentNeed(slug)],
    idempotencyKey,
    bounds: storageBounds(service, principal),
  });
  const { runId, turnId, threadId: ofThread } = created.run;
  return { runId, threadId: ofThread, turnId };
}

function threadFor({ threadId, branchBefore }: Pick<SubmitBody, 'threadId' | 'branchBefore'>, create: NewThread) {
  if (threadId === undefined) return { create };
  // The branch gets the title and the workspace of the thread from which it branches.
  if (branchBefore !== undefined) return { create: { branchOf: { threadId, turnId: branchBefore } } };
  return { threadId };
}

/** Creates equal items for a repeated request, so that the store recognises the repetition. */
function inputItems(messages: readonly UserMessage[], idempotencyKey: string | undefined): OutputItem[] {
  return messages.map(({ content, images = [], files = [] }, index): OutputItem => {
    const item = userMessage(content);
    const id = idempotencyKey === undefined ? item.id : `item_${sha256(`${index} ${idempotencyKey}`).slice(0, 32)}`;
    return {
      ...item,
      id,
      ...(images.length === 0 ? {} : { images: images.map(readImage) }),
      ...(files.length === 0 ? {} : { files: files.map(readFile) }),
    } as OutputItem;
  });
}

function readImage({ media_type, data }: NonNullable<UserMessage['images']>[number]): ImagePart {
  const image = imageIn(media_type, data);
  if (image === undefined)
    throw new ProblemError(400, `An image of "input" is larger than ${MAX_IMAGE_MB} MB. Send a smaller one.`);
  return image;
}

function readFile({ name, media_type, data }: NonNullable<UserMessage['files']>[number]): FilePart {
  const file = readFilePart(name, Buffer.from(data, 'base64'));
  if (typeof file === 'string') throw new ProblemError(400, `The file ${JSON.stringify(name)} of "input" ${file}`);
  if (file.media_type !== media_type)
    throw new ProblemError(
      400,
      `The file ${JSON.stringify(name)} of "input" is ${file.media_type}. Correct its "media_type".`,
    );
  return file;
}

function sha256(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}

/** The agent with a name, or the default agent. Throws a problem with status 404 if there is none. */
export async function requireAgent({ agents }: Service, agentId: string | undefined): Promise<ServedAgent> {
  const served = await agents.find(agentId);
  if (served !== undefined) return served;
  const names = (await agents.list()).map(({ config }) => config.slug);
  const missing = agentId === undefined ? '' : `There is no agent ${JSON.stringify(agentId)}. `;
  const there =
    names.length === 0
      ? 'The server has no agents. Give createServer the option agents, or demo: true.'
      : `The agents are: ${names.join(', ')}.`;
  throw new ProblemError(404, missing + there);
}

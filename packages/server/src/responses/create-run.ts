import type { OutputItem, Run, TraceContext } from '@toolscript/core/protocol';
import { type ModelSettings, type ServedAgent, agentNeed, inputTitle } from '@toolscript/service';
import { refuseFullQueue, storageBounds } from '../http/queue-limit.js';
import type { Service } from '../http/service.js';
import { apiError } from './api-errors.js';
import { checkCalls, readInput } from './input-items.js';
import { openEnd, previousResponse, type PreviousResponse } from './previous-response.js';
import type { CreateResponse } from './request-schema.js';
import { requestEcho, requestedSchema, requestModelSettings } from './request-settings.js';
import type { StoredRequest } from './response-resource.js';

/** Creates the run that answers a request. `trace`: the trace context of the request. */
export async function createRun(
  service: Service,
  principal: string,
  body: CreateResponse,
  trace: TraceContext | undefined,
): Promise<Run> {
  if (service.isDraining) throw apiError(503, 'The server is stopping. Send the request again after its restart.');
  await refuseFullQueue(service, principal);
  const previousId = body.previous_response_id ?? undefined;
  const previous = previousId === undefined ? undefined : await previousResponse(service, principal, previousId);
  const { config } = await findAgent(service, body.model ?? undefined, previous?.agentId);
  const input = readInput(body.input ?? []);
  if (input.length === 0) throw apiError(400, '"input" is empty. Send a string or items.', { param: 'input' });
  checkCalls(input, previous?.openCalls ?? []);
  const echo = requestEcho(body, config);
  const request: StoredRequest = { echo, include: body.include ?? [], inputItems: input.length };
  const traced = trace === undefined ? {} : { trace };
  const settings = requestModelSettings(body, config);
  const outputSchema = requestedSchema(body);
  const options = { agentId: config.slug, settings, outputSchema, request, ...traced };
  return begin(service, { principal, input, options, previous });
}

interface RunRequest {
  readonly principal: string;
  readonly input: readonly OutputItem[];
  readonly options: {
    readonly agentId: string;
    readonly settings: ModelSettings;
    readonly outputSchema: Readonly<Record<string, unknown>> | undefined;
    readonly request: StoredRequest;
  };
  readonly previous: PreviousResponse | undefined;
}

/**
 * Creates the run in the thread of the previous response, if that response is the newest of its thread and the request
 * stores its own response. Otherwise, creates a thread that branches after the previous response.
 */
async function begin(service: Service, { principal, input, options, previous }: RunRequest): Promise<Run> {
  const { runs } = service.stores;
  const bounds = storageBounds(service, principal);
  const common = { principal, options, needs: [agentNeed(options.agentId)], bounds };
  if (previous?.isNewest === true && options.request.echo.store) {
    const { threadId, runId } = previous.run;
    // Only one run can follow a response in its thread. The second of two concurrent runs gets a branch.
    const idempotencyKey = `response-after:${runId}`;
    const draft = { ...common, thread: { threadId }, input: [...input], idempotencyKey };
    const created = await runs.create(draft).catch(ignoring('IdempotencyConflictError'));
    if (created?.isNew === true) return created.run;
  }
  const create = { title: inputTitle(input), workspace: service.workspace, agentId: options.agentId };
  if (previous !== undefined) {
    const { threadId, turnId } = previous.run;
    const thread = { create: { ...create, branchOf: { threadId, turnId, withTurn: true } } };
    const draft = { ...common, thread, input: [...input] };
    const created = await runs.create(draft).catch(ignoring('ThreadBusyError'));
    if (created !== undefined) return created.run;
  }
  // A branch has no turn that waits for an approval: then the conversation from that turn on is part of the input.
  const end = previous === undefined ? undefined : await openEnd(service, previous);
  const thread = { create: { ...create, branchOf: end?.branchOf } };
  return (await runs.create({ ...common, thread, input: [...(end?.items ?? []), ...input] })).run;
}

function ignoring(name: string): (error: unknown) => undefined {
  return (error) => {
    if (error instanceof Error && error.name === name) return undefined;
    throw error;
  };
}

/**
 * The agent whose slug is `model`, or an agent with this model, preferably the agent of the conversation. Without
 * `model`, the agent of the conversation, or else the default agent.
 */
async function findAgent(
  { agents }: Service,
  model: string | undefined,
  previousAgentId: string | undefined,
): Promise<ServedAgent> {
  const named = await agents.find(model ?? previousAgentId);
  if (named !== undefined) return named;
  const all = await agents.list();
  const usesModel = ({ config }: ServedAgent) => model !== undefined && config.provider?.model === model;
  const ofThread = all.find((agent) => usesModel(agent) && agent.config.slug === previousAgentId);
  const found = ofThread ?? all.find(usesModel);
  if (found !== undefined) return found;
  const names = all.map(({ config }) => config.slug).join(', ');
  const name = JSON.stringify((model ?? previousAgentId ?? '').slice(0, 100));
  throw apiError(404, `No agent has the name or the model ${name}. The agents are: ${names || 'none'}.`, {
    param: 'model',
    code: 'model_not_found',
  });
}

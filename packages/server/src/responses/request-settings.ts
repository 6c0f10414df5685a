import type { AgentConfig } from '@toolscript/core/agent';
import type { ModelSettings } from '@toolscript/service';
import { answerSchemaProblem } from '../http/answer-schema.js';
import { apiError } from './api-errors.js';
import type { CreateResponse } from './request-schema.js';
import type { RequestEcho, WireTool } from './wire.js';

/** A request's settings for the model, as the run's options store them. */
export function requestModelSettings(body: CreateResponse, config: AgentConfig): ModelSettings {
  const functions = requestTools(body).map(({ name, description, parameters }) => ({
    type: 'function' as const,
    name,
    description: description ?? '',
    inputSchema: parameters ?? { type: 'object', properties: {} },
  }));
  const { clientFunctions, toolChoice } = functionChoice(body.tool_choice ?? 'auto', functions);
  const members = {
    instructions: body.instructions ?? undefined,
    maxOutputTokens: body.max_output_tokens ?? undefined,
    temperature: requestedSetting('temperature', body.temperature ?? undefined, config.temperature),
    reasoningEffort: requestedSetting('reasoning.effort', body.reasoning?.effort ?? undefined, config.reasoningEffort),
    parallelToolCalls: body.parallel_tool_calls ?? undefined,
    clientFunctions: clientFunctions.length === 0 ? undefined : clientFunctions,
    toolChoice,
  };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as ModelSettings;
}

/**
 * The requested value of a setting. Throws if the agent's configuration sets a different value, because the operator
 * decides.
 */
function requestedSetting<Value>(
  param: string,
  asked: Value | undefined,
  configured: Value | undefined,
): Value | undefined {
  if (asked === undefined || configured === undefined || asked === configured) return asked;
  throw apiError(
    400,
    `"${param}" must be ${JSON.stringify(configured)}, or omitted: the agent’s configuration sets it.`,
    { param, code: 'unsupported_value' },
  );
}

type Functions = NonNullable<ModelSettings['clientFunctions']>;

/** The functions that the model may call, and the choice that it must follow. */
function functionChoice(
  choice: NonNullable<CreateResponse['tool_choice']>,
  functions: Functions,
): { clientFunctions: Functions; toolChoice: ModelSettings['toolChoice'] } {
  if (choice === 'none') return { clientFunctions: [], toolChoice: undefined };
  if (choice === 'auto') return { clientFunctions: functions, toolChoice: undefined };
  if (choice === 'required') return { clientFunctions: functions, toolChoice: 'required' };
  if (choice.type === 'allowed_tools') {
    const names = choice.tools.map(({ name }) => knownFunctionName(name, functions));
    const allowed = functions.filter(({ name }) => names.includes(name));
    return functionChoice(choice.mode, allowed);
  }
  return { clientFunctions: functions, toolChoice: { name: knownFunctionName(choice.name, functions) } };
}

function knownFunctionName(name: string, functions: Functions): string {
  if (functions.some((one) => one.name === name)) return name;
  throw apiError(
    400,
    `"tool_choice" names ${JSON.stringify(name)}, which is not in "tools". Add the function to "tools", or name another function.`,
    {
      param: 'tool_choice',
      code: 'invalid_value',
    },
  );
}

function requestTools({ tools }: CreateResponse): readonly NonNullable<CreateResponse['tools']>[number][] {
  const all = tools ?? [];
  const twice = all.find(({ name }, index) => all.findIndex((other) => other.name === name) !== index);
  if (twice === undefined) return all;
  throw apiError(
    400,
    `"tools" has two functions with the name ${JSON.stringify(twice.name)}. Give them different names.`,
    {
      param: 'tools',
      code: 'invalid_value',
    },
  );
}

/** The members of the request that the response repeats. */
export function requestEcho(body: CreateResponse, config: AgentConfig): RequestEcho {
  const limits = [body.max_output_tokens ?? [], config.maxOutputTokens ?? []].flat();
  return {
    model: body.model ?? config.slug,
    previous_response_id: body.previous_response_id ?? null,
    instructions: body.instructions ?? null,
    tools: requestTools(body).map(toolEcho),
    tool_choice: body.tool_choice ?? 'auto',
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    temperature: body.temperature ?? config.temperature ?? 1,
    max_output_tokens: limits.length === 0 ? null : Math.min(...limits),
    reasoning: {
      effort: body.reasoning?.effort ?? config.reasoningEffort ?? null,
      summary: body.reasoning?.summary ?? null,
    },
    truncation: body.truncation ?? 'disabled',
    store: body.store ?? true,
    background: body.background ?? false,
    metadata: body.metadata ?? {},
    safety_identifier: body.safety_identifier ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    text: { format: formatEcho(body.text?.format ?? { type: 'text' }) },
  };
}

type AnswerFormat = NonNullable<NonNullable<CreateResponse['text']>['format']>;

/** `strict` is true: the server checks every answer against the schema. */
function formatEcho(format: AnswerFormat): RequestEcho['text']['format'] {
  if (format.type === 'text') return { type: 'text' };
  const { type, name, description = null, schema } = format;
  return { type, name, description, schema, strict: true };
}

/** The JSON Schema of the answer that a request demands; undefined if the answer is text. */
export function requestedSchema({ text }: CreateResponse): Readonly<Record<string, unknown>> | undefined {
  const format = text?.format;
  const schema = format?.type === 'json_schema' ? format.schema : undefined;
  const problem = answerSchemaProblem(schema);
  if (problem !== undefined) throw apiError(400, problem, { param: 'text.format.schema', code: 'invalid_value' });
  return schema;
}

/**
 * A tool as the response repeats it. `strict` is false, because the server does not check the model's arguments against
 * the schema.
 */
function toolEcho({ name, description, parameters }: NonNullable<CreateResponse['tools']>[number]): WireTool {
  return { type: 'function', name, description: description ?? null, parameters: parameters ?? null, strict: false };
}

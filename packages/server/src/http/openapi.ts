import { STATUS_CODES } from 'node:http';
import swagger, { type SwaggerTransform, type SwaggerTransformObject } from '@fastify/swagger';
import { OutputItemSchema, StreamEventSchema } from '@toolscript/core/protocol';
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { ApiErrorSchema } from '../responses/api-errors.js';
import { CreateResponseSchema } from '../responses/request-schema.js';
import { ResponseSchema } from '../responses/wire.js';
import { ProblemSchema } from './problems.js';
import {
  AgentSchema,
  ApprovalSchema,
  AuditEntrySchema,
  FileSchema,
  OutcomeSchema,
  RunSchema,
  SubmitBodySchema,
  ThreadSchema,
  ThreadSummarySchema,
  ToolSchema,
} from './schemas.js';

declare module 'fastify' {
  interface FastifySchema {
    /**
     * Answers that only the OpenAPI document has, because the server does not write them with a serializer: the schema
     * by media type. `{}`: the answer has no body.
     */
    answers?: Readonly<Record<number, Readonly<Record<string, z.ZodType>>>> | undefined;
  }
}

const SCHEMAS = {
  Agent: AgentSchema,
  ApiError: ApiErrorSchema,
  Approval: ApprovalSchema,
  AuditEntry: AuditEntrySchema,
  CreateResponse: CreateResponseSchema,
  File: FileSchema,
  Outcome: OutcomeSchema,
  OutputItem: OutputItemSchema,
  Problem: ProblemSchema,
  Response: ResponseSchema,
  Run: RunSchema,
  StreamEvent: StreamEventSchema,
  Submission: SubmitBodySchema,
  Thread: ThreadSchema,
  ThreadSummary: ThreadSummarySchema,
  Tool: ToolSchema,
};

/** The groups of operations, by the beginning of their paths. The first one that fits counts. */
const TAGS: readonly { readonly name: string; readonly paths: RegExp; readonly description: string }[] = [
  { name: 'Responses', paths: /^\/v1\//u, description: 'For clients of the OpenAI Responses API.' },
  { name: 'MCP', paths: /^\/mcp/u, description: 'Model Context Protocol over Streamable HTTP.' },
  { name: 'Files', paths: /^\/api\/v2\/(?:threads\/\S+\/files|runs\/\S+\/images)/u, description: 'Files and images.' },
  { name: 'Threads', paths: /^\/api\/v2\/(?:threads|changes)/u, description: 'Conversations.' },
  { name: 'Runs', paths: /^\/api\/v2\/(?:submit|stream|runs)/u, description: 'Prompts and their events.' },
  { name: 'Approvals', paths: /^\/api\/v2\/(?:approvals|rules)/u, description: 'Calls that wait for a decision.' },
  { name: 'Scripts', paths: /^\/api\/v2\/scripts/u, description: 'Single scripts: their outcome, end and undo.' },
  { name: 'Agents', paths: /^\/api\/v2\/(?:agents|tools)/u, description: 'Agents and their tools.' },
  { name: 'Administration', paths: /./u, description: 'Keys, the audit log, and the state of the process.' },
];

/**
 * The schemas that the OpenAPI document names once, and refers to elsewhere. They are not in zod's global registry,
 * which belongs to the host.
 */
const schemaRegistry = z.registry<{ id: string }>();
for (const [id, schema] of Object.entries(SCHEMAS)) schemaRegistry.add(schema, { id });

/** Serves the OpenAPI 3.1 document of the routes that are registered after this call. */
export async function describeApi(app: FastifyInstance, basePath: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Toolscript',
        description: 'Agents that call tools from scripts.',
        version: '2',
        contact: { name: 'Toolscript contributors' },
        license: { name: 'MIT', identifier: 'MIT' } as { name: string },
      },
      servers: [{ url: basePath === '' ? '/' : basePath }],
      tags: TAGS.map(({ name, description }) => ({ name, description })),
      components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
      security: [{ token: [] }],
    },
    transform: describeRoute,
    transformObject: completeDocument,
  });
}

const fromZod = createJsonSchemaTransform({ schemaRegistry });

/** Adds what follows from a route: its group, the first sentence of its description as the summary, and its errors. */
const describeRoute: SwaggerTransform = (document) => {
  const { route, url } = document;
  const schema = document.schema as FastifySchema | undefined;
  if (schema === undefined || schema.hide === true) return fromZod(document);
  const { answers = {}, ...described } = schema;
  const bodies = Object.entries(answers).filter(([, content]) => Object.keys(content).length > 0);
  const response = {
    ...(schema.response as object | undefined),
    ...Object.fromEntries(bodies.map(([status, content]) => [status, withMedia(content)])),
    ...errorAnswers(url, route),
  };
  const transformed = fromZod({ ...document, schema: { ...described, response } });
  const empty = Object.keys(answers).filter((status) => !bodies.some(([other]) => other === status));
  return {
    url: transformed.url,
    schema: {
      ...transformed.schema,
      tags: [TAGS.find(({ paths }) => paths.test(url))!.name],
      summary: firstSentence(schema.description ?? ''),
      ...(route.config?.scope === 'public' ? { security: [] } : {}),
      response: {
        ...(transformed.schema.response as object),
        ...Object.fromEntries(empty.map((status) => [status, { type: 'null' }])),
      },
    },
  };
};

function withMedia(content: Readonly<Record<string, z.ZodType>>) {
  return { content: Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, { schema }])) };
}

/** The errors that a route can answer. Errors under `/v1` have the form of the OpenAI API. */
function errorAnswers(url: string, route: RouteOptions): object {
  const content = url.startsWith('/v1/')
    ? { 'application/json': ApiErrorSchema }
    : { 'application/problem+json': ProblemSchema };
  return Object.fromEntries(errorStatuses(route).map((status) => [status, withMedia(content)]));
}

function errorStatuses({ schema = {}, config }: RouteOptions): number[] {
  return [
    400,
    403,
    429,
    500,
    503,
    ...(config?.scope === 'public' ? [] : [401]),
    ...(schema.params === undefined ? [] : [404]),
    ...(config?.audit === undefined ? [] : [409]),
    ...(schema.body === undefined ? [] : [413, 415]),
  ];
}

function firstSentence(text: string): string {
  return /^.*?(?=\.(?: |$)|: |$)/su.exec(text)![0];
}

const addSchemas = createJsonSchemaTransformObject({ schemaRegistry });

type Answers = Record<string, object>;

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Answers }>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

/**
 * Adds the named schemas to which a route refers, directly or by another schema, and the names of the statuses. Each
 * schema has a form for requests and one for responses. Each error is one named response, to which routes refer.
 */
const completeDocument: SwaggerTransformObject = (document) => {
  const described = addSchemas(document) as unknown as Described;
  const { paths, components } = described;
  const errors: Answers = {};
  for (const [path, operations] of Object.entries(paths))
    for (const { responses } of Object.values(operations))
      for (const [status, answer] of Object.entries(responses)) {
        Object.assign(answer, { description: STATUS_CODES[status] ?? 'Error' });
        if (Number(status) < 400) continue;
        const name = `${path.startsWith('/v1/') ? 'ApiError' : 'Problem'}${status}`;
        errors[name] = answer;
        responses[status] = { $ref: `#/components/responses/${name}` };
      }
  const schemas = usedSchemas([paths, errors], components.schemas);
  return { ...described, components: { ...components, schemas, responses: errors } } as never;
};

function usedSchemas(paths: object, schemas: Readonly<Record<string, object>>): Record<string, object> {
  const used = new Map<string, object>();
  const waiting: object[] = [paths];
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop())
    for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"]+)"/gu)) {
      const schema = schemas[name];
      if (schema === undefined || used.has(name)) continue;
      used.set(name, schema);
      waiting.push(schema);
    }
  return Object.fromEntries([...used].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

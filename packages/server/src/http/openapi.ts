import swagger, { type SwaggerTransformObject } from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
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

const SCHEMAS = {
  Agent: AgentSchema,
  Approval: ApprovalSchema,
  AuditEntry: AuditEntrySchema,
  CreateResponse: CreateResponseSchema,
  File: FileSchema,
  Outcome: OutcomeSchema,
  Problem: ProblemSchema,
  Response: ResponseSchema,
  Run: RunSchema,
  Submission: SubmitBodySchema,
  Thread: ThreadSchema,
  ThreadSummary: ThreadSummarySchema,
  Tool: ToolSchema,
};

/**
 * The schemas that the OpenAPI document names once, and refers to elsewhere. They are not in zod's global registry,
 * which belongs to the host.
 */
const schemaRegistry = z.registry<{ id: string }>();
for (const [id, schema] of Object.entries(SCHEMAS)) schemaRegistry.add(schema, { id });

/** Serves the OpenAPI 3.1 document of the routes that are registered after this call. */
export async function describeApi(app: FastifyInstance): Promise<void> {
  describeErrors(app);
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Toolscript', description: 'Agents that call tools from scripts.', version: '2' },
      components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
      security: [{ token: [] }],
    },
    transform: createJsonSchemaTransform({ schemaRegistry }),
    transformObject: withNamedSchemas,
  });
}

/**
 * Documents for each route outside `/v1` that errors are problem documents, and for public routes that they need no
 * token.
 */
function describeErrors(app: FastifyInstance): void {
  app.addHook('onRoute', ({ url, schema, config }) => {
    if (schema === undefined || schema.hide === true || url.startsWith('/v1/')) return;
    schema.response = { ...(schema.response as object | undefined), '4xx': ProblemSchema, '5xx': ProblemSchema };
    if (config?.scope === 'public') schema.security = [];
  });
}

const addSchemas = createJsonSchemaTransformObject({ schemaRegistry });

/** Adds the named schemas to which a route refers: each schema has a form for requests and one for responses. */
const withNamedSchemas: SwaggerTransformObject = (document) => {
  const described = addSchemas(document) as { paths: object; components: { schemas: Record<string, object> } };
  const { paths, components } = described;
  const text = JSON.stringify(paths);
  const schemas = Object.entries(components.schemas).filter(([name]) =>
    text.includes(`"#/components/schemas/${name}"`),
  );
  return { ...described, components: { ...components, schemas: Object.fromEntries(schemas) } } as never;
};

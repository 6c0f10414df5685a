import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { createGenerator } from 'ts-json-schema-generator';
import type { ProviderApi } from '#core/providers/index.js';

const TYPES: Readonly<Record<ProviderApi, string>> = {
  'openai-responses': 'ResponsesRequest',
  'openai-chat': 'ChatRequest',
  'anthropic-messages': 'MessagesRequest',
};

/** With the blocks and tools of the beta. */
export const BETA_TYPES = { ...TYPES, 'anthropic-messages': 'MessagesBetaRequest' } as const;

const NAME = { type: 'string', minLength: 1, maxLength: 64, pattern: '^[a-zA-Z0-9_-]+$' };
const CALL_ID = { type: 'string', minLength: 1, maxLength: 64 };
const TEMPERATURE = { type: 'number', minimum: 0, maximum: 2 };
const TYPED = (type: string) => ({ properties: { type: { const: type } }, required: ['type'] });
const ROLE = (role: string) => ({ properties: { role: { const: role } }, required: ['role'] });

/** Texts, or parts of these types. */
const CONTENT = (...types: string[]) => ({
  properties: {
    content: {
      anyOf: [{ type: 'string' }, { type: 'array', items: { properties: { type: { enum: types } } } }],
    },
  },
});

/**
 * Bounds that the types of an SDK cannot express, written for this repository.
 * - Responses: the schema that OpenAI published with others as Open Responses, version 2026-04-24,
 *   https://github.com/openresponses/openresponses, `public/openapi/openapi.json`, `CreateResponseBody`.
 * - Chat: the descriptions of the parameters in the `openai` package 7.59.0, which come from OpenAI's OpenAPI document.
 * - Messages: the descriptions in `@anthropic-ai/sdk` 1.14.0.
 */
const BOUNDS: Readonly<Record<ProviderApi, object>> = {
  'openai-responses': {
    properties: {
      temperature: TEMPERATURE,
      max_output_tokens: { minimum: 16 },
      prompt_cache_key: { maxLength: 64 },
      tools: { items: { properties: { name: NAME } } },
      input: {
        items: {
          allOf: [
            { if: ROLE('user'), then: CONTENT('input_text', 'input_image', 'input_file') },
            { if: ROLE('developer'), then: CONTENT('input_text') },
            { if: ROLE('assistant'), then: CONTENT('output_text', 'refusal') },
            { if: TYPED('function_call'), then: { properties: { call_id: CALL_ID, name: NAME } } },
            { if: TYPED('custom_tool_call'), then: { properties: { call_id: CALL_ID, name: NAME } } },
            { if: TYPED('function_call_output'), then: { properties: { call_id: CALL_ID } } },
            { if: TYPED('custom_tool_call_output'), then: { properties: { call_id: CALL_ID } } },
          ],
        },
      },
    },
  },
  'openai-chat': {
    properties: {
      temperature: TEMPERATURE,
      stop: { maxItems: 4 },
      messages: {
        minItems: 1,
        items: {
          properties: {
            tool_calls: { minItems: 1, items: { properties: { function: { properties: { name: NAME } } } } },
          },
        },
      },
      tools: { items: { properties: { function: { properties: { name: NAME } } } } },
    },
  },
  'anthropic-messages': {
    properties: {
      temperature: { type: 'number', minimum: 0, maximum: 1 },
      max_tokens: { type: 'integer', minimum: 1 },
      messages: { minItems: 1 },
    },
  },
};

/** Returns the problems of a request: none if it fits. */
export type RequestCheck = (body: object) => string[];

/** Returns the JSON Schema of a type of `sdk-requests.ts`. */
export type SchemaOf = (type: string) => object;

export function sdkSchemas(): SchemaOf {
  const generator = createGenerator({
    path: fileURLToPath(new URL('sdk-requests.ts', import.meta.url)),
    tsconfig: fileURLToPath(new URL('../../../../tsconfig.base.json', import.meta.url)),
    skipTypeCheck: true,
    additionalProperties: false,
    expose: 'none',
    topRef: false,
  });
  return (type) => generator.createSchema(type);
}

/** One check for each format: no unknown member, no wrong type, no value out of its bounds. */
export function requestChecks(
  schemaOf = sdkSchemas(),
  types: Readonly<Record<ProviderApi, string>> = TYPES,
): Readonly<Record<ProviderApi, RequestCheck>> {
  const checkOf = (api: ProviderApi): RequestCheck => {
    const ajv = new Ajv({ strict: false, allErrors: false, verbose: true });
    const shape = ajv.compile(schemaOf(types[api]));
    const bounds = ajv.compile(BOUNDS[api]);
    return (body) =>
      [shape, bounds].flatMap((check) =>
        check(body)
          ? []
          : (check.errors ?? []).map(
              ({ instancePath, message, data }) => `${instancePath} ${message}: ${JSON.stringify(data)}`,
            ),
      );
  };
  return {
    'openai-responses': checkOf('openai-responses'),
    'openai-chat': checkOf('openai-chat'),
    'anthropic-messages': checkOf('anthropic-messages'),
  };
}

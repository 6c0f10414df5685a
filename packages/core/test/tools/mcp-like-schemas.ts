import type { Schema } from './schema-instances.js';

const STATES = { enum: ['open', 'closed', 'all'] };

/** Schemas like those of MCP servers and function catalogs, with their peculiarities. */
export const MCP_LIKE: readonly Schema[] = [
  // Three spellings of a schema without arguments.
  { type: 'object', properties: {} },
  { type: 'object', properties: {}, additionalProperties: false },
  { type: 'object' },
  {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: {
      owner: { type: 'string', description: 'Repository owner' },
      repo: { type: 'string' },
      state: { type: 'string', enum: ['open', 'closed', 'all'], default: 'open' },
      labels: { type: 'array', items: { type: 'string' } },
      page: { type: 'number', minimum: 1 },
      perPage: { type: 'number', minimum: 1, maximum: 100 },
    },
    required: ['owner', 'repo'],
    additionalProperties: false,
  },
  // Defaults that do not fit, and members that must be given although they have one.
  {
    type: 'object',
    properties: {
      path: { type: 'string' },
      encoding: { type: 'string', default: null },
      depth: { type: 'integer', default: 'all' },
      unit: { type: 'string', enum: ['metric', 'imperial'], default: 'kelvin' },
      lines: { type: 'integer', default: 10, minimum: 1 },
      include: { type: 'array', items: { type: 'string' }, default: [] },
    },
    required: ['path', 'lines', 'include'],
  },
  // Optional members in the form of pydantic.
  {
    type: 'object',
    title: 'searchArguments',
    properties: {
      query: { title: 'Query', type: 'string' },
      limit: { anyOf: [{ type: 'integer' }, { type: 'null' }], default: null, title: 'Limit' },
      since: { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }], default: null },
      sort: { anyOf: [{ enum: ['new', 'old'], type: 'string' }, { type: 'null' }], default: 'new' },
    },
    required: ['query'],
  },
  // An enum that is used twice, and a list of it.
  {
    type: 'object',
    properties: {
      from: { $ref: '#/$defs/State' },
      to: { $ref: '#/$defs/State' },
      any: { type: 'array', items: { $ref: '#/$defs/State' } },
    },
    required: ['from'],
    $defs: { State: STATES },
  },
  // A type that contains itself.
  {
    type: 'object',
    properties: { filter: { $ref: '#/definitions/Filter' } },
    required: ['filter'],
    definitions: {
      Filter: {
        type: 'object',
        properties: {
          field: { type: 'string' },
          and: { type: 'array', items: { $ref: '#/definitions/Filter' }, maxItems: 2 },
        },
        required: ['field'],
      },
    },
  },
  // Edits in a list of objects.
  {
    type: 'object',
    properties: {
      path: { type: 'string', minLength: 1 },
      edits: {
        type: 'array',
        minItems: 1,
        items: {
          type: 'object',
          properties: {
            oldText: { type: 'string' },
            newText: { type: 'string' },
            all: { type: 'boolean', default: false },
          },
          required: ['oldText', 'newText', 'all'],
        },
      },
      dryRun: { type: 'boolean', default: false },
    },
    required: ['path', 'edits'],
  },
  // A union of several kinds.
  {
    type: 'object',
    properties: {
      target: {
        oneOf: [
          {
            type: 'object',
            properties: { type: { const: 'page' }, pageId: { type: 'string' } },
            required: ['type', 'pageId'],
          },
          {
            type: 'object',
            properties: { type: { const: 'database' }, databaseId: { type: 'string' } },
            required: ['type', 'databaseId'],
          },
          { type: 'object', properties: { type: { const: 'workspace' } }, required: ['type'] },
        ],
      },
    },
    required: ['target'],
  },
  {
    type: 'object',
    properties: {
      value: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'array', items: { type: 'string' } }] },
    },
  },
  {
    type: 'object',
    properties: { op: { anyOf: [{ const: 'set' }, { const: 'unset' }] }, key: { type: ['string', 'integer'] } },
    required: ['op'],
  },
  // Objects that define their additional members.
  {
    type: 'object',
    properties: {
      headers: { type: 'object', additionalProperties: { type: 'string' } },
      body: { type: 'object', additionalProperties: true, properties: { id: { type: 'string' } }, required: ['id'] },
      options: { type: 'object' },
      meta: { type: 'object', properties: { tag: { type: 'string' } } },
    },
  },
  { type: 'object', properties: { name: { type: 'string' } }, additionalProperties: true },
  {
    type: 'object',
    allOf: [
      { properties: { id: { type: 'string' } }, required: ['id'] },
      { properties: { size: { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 50 } } },
    ],
  },
  {
    type: 'object',
    properties: { body: { type: 'string' }, reaction: { enum: ['+1', '-1'] }, id: { type: 'integer', multipleOf: 5 } },
    anyOf: [{ required: ['body'] }, { required: ['reaction'] }],
  },
  {
    type: 'object',
    properties: {
      date: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' },
      email: { type: 'string', format: 'email' },
      size: { type: 'number', minimum: -90, maximum: 90 },
      code: { type: 'string', minLength: 3, maxLength: 5 },
      anything: {},
      nothing: { type: 'null' },
      'with-dash': { type: 'boolean' },
    },
    required: ['date', 'with-dash'],
  },
  // An optional number, as a library writes it.
  { type: 'object', properties: { bins: { anyOf: [{ anyOf: [{ not: {} }, { type: 'number' }] }, { type: 'null' }] } } },
];

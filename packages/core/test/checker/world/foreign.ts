import { defineTool } from '#core/index.js';

/** Tools with JSON Schemas in the style of other servers: `$ref`, `anyOf`, `nullable`, recursion. */
export function foreignTools() {
  return [jiraSearch(), slackPost(), notionQuery()];
}

function jiraSearch() {
  const issues = [
    { key: 'OPS-1', summary: 'Rotate keys', priority: 'high', assignee: { name: 'ada' }, points: 3 },
    { key: 'OPS-2', summary: 'Clean logs', priority: 'low', assignee: null, points: null },
    {
      key: 'WEB-7',
      summary: 'New header',
      priority: 'medium',
      assignee: { name: 'bob', email: 'bob@acme.example' },
      points: 5,
    },
  ];
  return defineTool({
    name: 'jira.search_issues',
    description: 'Finds issues of a project.',
    effect: 'read',
    approval: 'never',
    inputSchema: {
      type: 'object',
      properties: {
        project: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
        priority: { $ref: '#/$defs/Priority' },
        max_results: { type: 'integer', default: 10 },
      },
      required: ['project'],
      additionalProperties: false,
      $defs: { Priority: { type: 'string', enum: ['low', 'medium', 'high'] } },
    },
    outputSchema: {
      type: 'object',
      properties: { issues: { type: 'array', items: { $ref: '#/$defs/Issue' } }, total: { type: 'integer' } },
      required: ['issues', 'total'],
      $defs: {
        Person: {
          type: 'object',
          properties: { name: { type: 'string' }, email: { type: 'string' } },
          required: ['name'],
        },
        Issue: {
          type: 'object',
          properties: {
            key: { type: 'string' },
            summary: { type: 'string' },
            priority: { type: 'string', enum: ['low', 'medium', 'high'] },
            assignee: { anyOf: [{ $ref: '#/$defs/Person' }, { type: 'null' }] },
            reporter: { $ref: '#/$defs/Person' },
            points: { type: ['number', 'null'] },
          },
          required: ['key', 'summary', 'priority', 'assignee', 'points'],
        },
      },
    },
    execute: ({ project, priority, max_results: most = 10 }) => {
      const projects = [project].flat() as string[];
      const found = issues.filter(
        (issue) =>
          projects.some((name) => issue.key.startsWith(`${name}-`)) &&
          (priority === undefined || issue.priority === priority),
      );
      return { issues: found.slice(0, most), total: found.length };
    },
  });
}

function slackPost() {
  let posted = 0;
  return defineTool({
    name: 'slack.post_message',
    description: 'Posts to a channel.',
    effect: 'external',
    approval: 'never',
    inputSchema: {
      type: 'object',
      properties: {
        channel: { type: 'string' },
        text: { type: 'string' },
        thread_ts: { type: 'string', nullable: true },
        blocks: {
          type: 'array',
          items: {
            oneOf: [
              {
                type: 'object',
                properties: { type: { const: 'section' }, text: { type: 'string' } },
                required: ['type', 'text'],
                additionalProperties: false,
              },
              {
                type: 'object',
                properties: { type: { const: 'divider' } },
                required: ['type'],
                additionalProperties: false,
              },
            ],
          },
        },
      },
      required: ['channel', 'text'],
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: { ok: { type: 'boolean' }, ts: { type: 'string' }, warning: { type: 'string' } },
      required: ['ok', 'ts'],
    },
    execute: ({ channel }) => {
      posted += 1;
      const answer = { ok: true, ts: `1714980000.00000${posted}` };
      return String(channel).startsWith('#') ? answer : { ...answer, warning: 'channel without #' };
    },
  });
}

function notionQuery() {
  const pages = [
    { id: 'p1', title: 'Roadmap', properties: { status: 'active', votes: 12, archived: false } },
    { id: 'p2', title: 'Ideas', properties: { status: 'draft', votes: 3, archived: false } },
    { id: 'p3', title: 'Old', properties: { status: 'draft', votes: 0, archived: true } },
  ];
  interface Filter {
    and?: Filter[];
    property?: keyof (typeof pages)[number]['properties'];
    equals?: unknown;
  }
  const passes = (page: (typeof pages)[number], { and, property, equals }: Filter): boolean =>
    and?.every((inner) => passes(page, inner)) ?? (property === undefined || page.properties[property] === equals);
  return defineTool({
    name: 'notion.query_database',
    description: 'Pages of a database that pass a filter.',
    effect: 'read',
    approval: 'never',
    inputSchema: {
      type: 'object',
      properties: { database_id: { type: 'string' }, filter: { $ref: '#/definitions/Filter' } },
      required: ['database_id'],
      additionalProperties: false,
      definitions: {
        Filter: {
          anyOf: [
            {
              type: 'object',
              properties: { and: { type: 'array', items: { $ref: '#/definitions/Filter' } } },
              required: ['and'],
              additionalProperties: false,
            },
            {
              type: 'object',
              properties: {
                property: { type: 'string' },
                equals: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] },
              },
              required: ['property', 'equals'],
              additionalProperties: false,
            },
          ],
        },
      },
    },
    outputSchema: {
      type: 'object',
      properties: {
        results: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              id: { type: 'string' },
              title: { type: 'string' },
              properties: {
                type: 'object',
                additionalProperties: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] },
              },
            },
            required: ['id', 'title', 'properties'],
          },
        },
        has_more: { type: 'boolean' },
      },
      required: ['results', 'has_more'],
    },
    execute: ({ filter }) => ({
      results: pages.filter((page) => passes(page, (filter ?? {}) as Filter)),
      has_more: false,
    }),
  });
}

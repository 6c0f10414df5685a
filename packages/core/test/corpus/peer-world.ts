import { defineTool } from '#core/index.js';
import type { Tool } from '#core/protocol/index.js';
import { z } from 'zod';

/**
 * Tools with the shapes of the sources of the peers' scripts: results that are plain numbers, texts and lists, MCP
 * results, unions, results without a schema. They answer from memory, and give equal answers to equal calls.
 */
export const PEER_WORLD: readonly (() => Tool[])[] = [
  arithmeticTools,
  textTools,
  shopTools,
  teamTools,
  dataTools,
  codingTools,
  officeTools,
];

interface Parts<Input extends z.ZodRawShape> {
  readonly name: string;
  readonly input: Input;
  readonly output?: z.ZodType;
  readonly execute: (input: z.infer<z.ZodObject<Input>>) => unknown;
}

function tool<Input extends z.ZodRawShape>({ name, input, output, execute }: Parts<Input>): Tool {
  return defineTool({
    name,
    description: `The function ${name}.`,
    effect: 'external',
    approval: 'never',
    input: z.object(input),
    ...(output === undefined ? {} : { output }),
    execute: (given) => execute(given) as never,
  });
}

function arithmeticTools(): Tool[] {
  const numbers = { a: z.number(), b: z.number() };
  return [
    tool({ name: 'add', input: numbers, output: z.number(), execute: ({ a, b }) => a + b }),
    tool({
      name: 'double',
      input: { value: z.number() },
      output: z.object({ value: z.number() }),
      execute: ({ value }) => ({ value: value * 2 }),
    }),
    tool({
      name: 'math.add',
      input: numbers,
      output: z.object({ result: z.number(), operation: z.string() }),
      execute: ({ a, b }) => ({ result: a + b, operation: 'addition' }),
    }),
    tool({
      name: 'math.sum',
      input: { numbers: z.array(z.number()) },
      output: z.object({ sum: z.number(), count: z.number(), average: z.number() }),
      execute: ({ numbers: given }) => {
        const sum = given.reduce((total, one) => total + one, 0);
        return { sum, count: given.length, average: given.length === 0 ? 0 : sum / given.length };
      },
    }),
    tool({
      name: 'slow',
      input: { id: z.number() },
      output: z.object({ id: z.number() }),
      execute: async ({ id }) => {
        await new Promise((resolve) => setTimeout(resolve, 2));
        return { id };
      },
    }),
    tool({
      name: 'failing',
      input: { message: z.string().optional() },
      execute: ({ message = 'tool exploded' }) => {
        throw new Error(message);
      },
    }),
  ];
}

const PLACES: Readonly<Record<string, number>> = { London: 12, Paris: 18, Tokyo: 25 };

function textTools(): Tool[] {
  let asked = 0;
  return [
    tool({
      name: 'greet',
      input: { name: z.string(), formal: z.boolean().default(false) },
      output: z.object({ greeting: z.string(), isFormal: z.boolean() }),
      execute: ({ name, formal }) => ({ greeting: formal ? `Good day, ${name}` : `Hey ${name}!`, isFormal: formal }),
    }),
    tool({
      name: 'weather_text',
      input: { location: z.string() },
      output: z.string(),
      execute: ({ location }) => `Weather in ${location}: 72 degrees, ${location === 'Bergen' ? 'rain' : 'sunny'}`,
    }),
    tool({
      name: 'get_user_location',
      input: {},
      output: z.string(),
      execute: () => 'Paris',
    }),
    tool({
      name: 'geo.latlng',
      input: { location: z.string() },
      output: z.object({ lat: z.number(), lng: z.number() }),
      execute: ({ location }) => ({ lat: PLACES[location] ?? 0, lng: location.length }),
    }),
    tool({
      name: 'geo.temp',
      input: { lat: z.number(), lng: z.number() },
      output: z.number(),
      execute: ({ lat }) => lat,
    }),
    tool({
      name: 'geo.describe',
      input: { lat: z.number(), lng: z.number() },
      output: z.string(),
      execute: ({ lat }) => (lat > 15 ? 'warm' : 'cool'),
    }),
    tool({
      name: 'web.visit',
      input: { url: z.string() },
      output: z.string(),
      execute: ({ url }) => `<h1>${url.replace(/^https:\/\//u, '')}</h1> price $${url.length}.50`,
    }),
    tool({
      name: 'wiki_search',
      input: { query: z.string() },
      execute: ({ query }) => (query.includes('and') ? `No result found for ${query}` : `${query}: 15 million (2021)`),
    }),
    tool({
      name: 'llm.call',
      input: { prompt: z.string(), messages: z.array(z.record(z.string(), z.string())) },
      output: z.union([z.string(), z.array(z.object({ role: z.string(), content: z.string() }))]),
      execute: ({ messages }) =>
        messages.length < 2 ? [{ role: 'system', content: 'example' }] : `done after ${messages.length}`,
    }),
    tool({
      name: 'sentiment',
      input: { text: z.string() },
      output: z.number(),
      execute: ({ text }) => (text.includes('love') ? 0.9 : 0.25),
    }),
    tool({
      name: 'probe.echo-tool',
      input: { message: z.string(), env_var: z.string().optional() },
      output: z.object({
        content: z.array(z.object({ type: z.string(), text: z.string().optional() })),
        structuredContent: z.object({ echo: z.string(), env: z.string().nullable() }).optional(),
        isError: z.boolean(),
      }),
      execute: ({ message }) => ({
        content: [],
        structuredContent: { echo: `ECHOING: ${message}`, env: null },
        isError: false,
      }),
    }),
    tool({
      name: 'probe.text_only',
      input: { caption: z.string() },
      execute: ({ caption }) => ({ content: [{ type: 'text', text: caption }], isError: false }),
    }),
    tool({
      name: 'channel.history',
      input: { channel: z.string() },
      output: z.object({ messages: z.array(z.object({ user: z.string(), text: z.string() })) }),
      execute: () => {
        asked += 1;
        const messages = [{ user: 'bot', text: 'deployment started' }];
        return { messages: asked < 3 ? messages : [...messages, { user: 'bot', text: 'deployment complete' }] };
      },
    }),
  ];
}

const PRODUCTS = [
  { sku: 'seat-basic', name: 'Basic Seat', tags: ['mesh'], available: 0, unitPriceCents: 19_900 },
  { sku: 'seat-pro', name: 'Pro Seat', tags: ['mesh', 'lumbar'], available: 8, unitPriceCents: 23_900 },
  { sku: 'seat-max', name: 'Max Seat', tags: ['executive'], available: 3, unitPriceCents: 32_900 },
];

function product(sku: string): (typeof PRODUCTS)[number] {
  const found = PRODUCTS.find((candidate) => candidate.sku === sku);
  if (found === undefined) throw new Error(`no product ${sku}`);
  return found;
}

function shopTools(): Tool[] {
  return [
    tool({
      name: 'shop.search',
      input: { query: z.string(), maxResults: z.number().int().min(1).max(5) },
      output: z.object({
        products: z.array(z.object({ sku: z.string(), name: z.string(), tags: z.array(z.string()) })),
      }),
      execute: ({ maxResults }) => ({
        products: PRODUCTS.slice(0, maxResults).map(({ sku, name, tags }) => ({ sku, name, tags })),
      }),
    }),
    tool({
      name: 'shop.inventory',
      input: { sku: z.string() },
      output: z.object({
        sku: z.string(),
        available: z.number(),
        warehouses: z.array(z.object({ id: z.string(), available: z.number() })),
      }),
      execute: ({ sku }) => {
        const { available } = product(sku);
        return { sku, available, warehouses: [{ id: 'west', available }] };
      },
    }),
    tool({
      name: 'shop.pricing',
      input: { customerId: z.string(), sku: z.string() },
      output: z.object({ sku: z.string(), unitPriceCents: z.number(), discountPct: z.number() }),
      execute: ({ sku }) => ({ sku, unitPriceCents: product(sku).unitPriceCents, discountPct: 10 }),
    }),
    tool({
      name: 'shop.customer',
      input: { customerId: z.string() },
      output: z.object({
        id: z.string(),
        tier: z.enum(['free', 'pro', 'enterprise']),
        region: z.string(),
        defaultQuantity: z.number(),
        email: z.string(),
      }),
      execute: ({ customerId }) => ({
        id: customerId,
        tier: 'enterprise',
        region: 'us-west',
        defaultQuantity: 4,
        email: 'buyer@shop.example',
      }),
    }),
    tool({
      name: 'shop.shipping',
      input: { sku: z.string(), region: z.string(), quantity: z.number() },
      output: z.object({ carrier: z.string(), etaDays: z.number(), costCents: z.number() }),
      execute: ({ region }) => ({ carrier: 'Freight', etaDays: region === 'us-west' ? 3 : 5, costCents: 4200 }),
    }),
    tool({
      name: 'shop.quote',
      input: {
        customerId: z.string(),
        sku: z.string(),
        quantity: z.number(),
        unitPriceCents: z.number(),
        shippingCents: z.number(),
      },
      output: z.object({ quoteId: z.string(), totalCents: z.number() }),
      execute: ({ customerId, sku, quantity, unitPriceCents, shippingCents }) => ({
        quoteId: `q-${customerId}-${sku}-${quantity}`,
        totalCents: quantity * unitPriceCents + shippingCents,
      }),
    }),
    tool({
      name: 'orders.get',
      input: { id: z.string() },
      output: z.object({ id: z.string(), total: z.number() }),
      execute: ({ id }) => ({ id, total: id === 'small' ? 40 : 250 }),
    }),
    tool({
      name: 'orders.refund',
      input: { id: z.string(), amount: z.number().positive() },
      output: z.object({ approved: z.boolean() }),
      execute: ({ amount }) => ({ approved: amount < 100 }),
    }),
    tool({
      name: 'orders.list',
      input: { customerId: z.string() },
      output: z.array(z.object({ id: z.string(), amount: z.number() })),
      execute: ({ customerId }) => [10, 20.5, 4].map((amount, index) => ({ id: `${customerId}-${index}`, amount })),
    }),
    tool({
      name: 'stock.reserve',
      input: { itemId: z.string() },
      output: z.object({ reserved: z.boolean() }),
      execute: ({ itemId }) => {
        if (itemId.startsWith('gone')) throw new Error('out of stock');
        return { reserved: true };
      },
    }),
    tool({
      name: 'lookup-account',
      input: { userId: z.string() },
      output: z.object({ id: z.string(), plan: z.enum(['free', 'pro', 'enterprise']), email: z.string() }),
      execute: ({ userId }) => ({ id: userId, plan: 'pro', email: `${userId}@shop.example` }),
    }),
  ];
}

const MEMBERS = [
  { id: 1, name: 'Alice' },
  { id: 2, name: 'Bob' },
  { id: 3, name: 'Cho' },
];
const SPENT = [
  [3200, 2500],
  [900.5, 100],
  [4000, 4200],
];

function teamTools(): Tool[] {
  return [
    tool({
      name: 'team.members',
      input: { department: z.string() },
      output: z.object({ members: z.array(z.object({ id: z.number(), name: z.string() })) }),
      execute: ({ department }) => ({ members: department === 'Engineering' ? MEMBERS : [] }),
    }),
    tool({
      name: 'team.expenses',
      input: { userId: z.number(), quarter: z.enum(['Q1', 'Q2', 'Q3', 'Q4']), category: z.string().optional() },
      output: z.object({ expenses: z.array(z.object({ amount: z.number(), description: z.string() })) }),
      execute: ({ userId }) => ({
        expenses: (SPENT[userId - 1] ?? []).map((amount, index) => ({ amount, description: `trip ${index + 1}` })),
      }),
    }),
    tool({
      name: 'team.customBudget',
      input: { userId: z.number() },
      output: z.object({ budget: z.number(), reason: z.string() }).nullable(),
      execute: ({ userId }) => (userId === 3 ? { budget: 9000, reason: 'sales lead' } : null),
    }),
    tool({
      name: 'get_expenses_text',
      input: { employee_id: z.string() },
      output: z.string(),
      execute: ({ employee_id: id }) =>
        JSON.stringify([
          { amount: id.length * 100, status: 'approved' },
          { amount: 50, status: 'pending' },
        ]),
    }),
    tool({
      name: 'server_status',
      input: { host: z.string() },
      output: z.object({ healthy: z.boolean(), latencyMs: z.number() }),
      execute: ({ host }) => ({ healthy: host !== 'eu-1', latencyMs: host.length * 10 }),
    }),
    tool({
      name: 'fetch_logs',
      input: { server: z.string() },
      output: z.array(z.string()),
      execute: ({ server }) => [`${server} INFO up`, `${server} ERROR disk full`, `${server} ERROR retry`],
    }),
  ];
}

const ROWS = [
  { region: 'West', customer: 'Acme', revenue: 120 },
  { region: 'West', customer: 'Bolt', revenue: 80 },
  { region: 'East', customer: 'Acme', revenue: 310 },
  { region: 'Central', customer: 'Core', revenue: 95 },
];

function dataTools(): Tool[] {
  const created: { id: number; title: string }[] = [];
  const kept = new Map<string, unknown>();
  return [
    tool({
      name: 'query_database',
      input: { sql: z.string() },
      execute: ({ sql }) => {
        const region = /'(\w+)'/u.exec(sql)?.[1];
        return ROWS.filter((row) => region === undefined || row.region === region);
      },
    }),
    tool({
      name: 'package_metadata',
      input: { name: z.string() },
      output: z.object({ version: z.string(), requires: z.string().nullable(), dependencies: z.array(z.string()) }),
      execute: ({ name }) => ({
        version: `1.${name.length}.0`,
        requires: name === 'old' ? null : '>=3.10',
        dependencies: ['Monty>=1', 'httpx', ...(name === 'old' ? [] : ['monty-tools'])],
      }),
    }),
    tool({
      name: 'items.list_items',
      input: {},
      output: z.array(z.object({ id: z.number(), title: z.string() })),
      execute: () => created,
    }),
    tool({
      name: 'items.create_item',
      input: { title: z.string() },
      output: z.object({ id: z.number(), title: z.string() }),
      execute: ({ title }) => {
        const item = { id: created.length + 1, title };
        created.push(item);
        return item;
      },
    }),
    tool({
      name: 'process_data',
      input: { data: z.unknown(), options: z.record(z.string(), z.unknown()).default({}) },
      execute: ({ data, options }) => ({
        processed: { ...(data as object), processed: true },
        metadata: {
          itemCount: Array.isArray(data) ? data.length : 1,
          hasOptions: Object.keys(options).length > 0,
        },
      }),
    }),
    tool({
      name: 'api.request',
      input: {
        method: z.enum(['GET', 'POST', 'PUT', 'DELETE']),
        path: z.string(),
        query: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
        body: z.unknown().optional(),
      },
      output: z.object({ status: z.number(), body: z.any() }),
      execute: ({ method, path, body }) => {
        if (method === 'POST') return { status: 201, body: { id: '2', ...(body as object) } };
        if (path === '/v1/clusters') return { status: 200, body: [{ id: '1', name: 'prod' }] };
        return { status: 404, body: { message: `no ${path}` } };
      },
    }),
    tool({
      name: 'api.spec',
      input: {},
      execute: () => ({
        paths: {
          '/v1/clusters': {
            get: { operationId: 'listClusters', summary: 'List clusters' },
            post: { operationId: 'createCluster', summary: 'Create a cluster' },
          },
          '/v1/pods': { get: { operationId: 'listPods', summary: 'List pods' } },
        },
      }),
    }),
    tool({
      name: 'memory.store_memory',
      input: {
        content: z.string(),
        tags: z.array(z.string()).optional(),
        importance: z.number().min(0).max(1).optional(),
      },
      output: z.object({ memory_id: z.string() }),
      execute: ({ content }) => {
        kept.set(`m${kept.size + 1}`, content);
        return { memory_id: `m${kept.size}` };
      },
    }),
    tool({
      name: 'memory.recall_memory',
      input: { query: z.string().optional() },
      output: z.object({ results: z.array(z.object({ id: z.string(), content: z.string() })) }),
      execute: ({ query = '' }) => ({
        results: [...kept]
          .map(([id, content]) => ({ id, content: String(content) }))
          .filter(({ content }) => content.includes(query)),
      }),
    }),
    tool({
      name: 'getCustomers',
      input: {},
      output: z.object({
        customers: z.array(z.object({ id: z.string(), name: z.string(), city: z.string() })),
        total: z.number(),
      }),
      execute: () => ({
        customers: [
          { id: 'u1', name: 'Ann', city: 'Rome' },
          { id: 'u2', name: 'Ben', city: 'Oslo' },
        ],
        total: 2,
      }),
    }),
    tool({
      name: 'getPurchases',
      input: { customerId: z.string().optional() },
      output: z.object({
        purchases: z.array(z.object({ customerId: z.string(), category: z.string(), amount: z.number() })),
      }),
      execute: ({ customerId }) => ({
        purchases: [
          { customerId: 'u1', category: 'books', amount: 30 },
          { customerId: 'u1', category: 'toys', amount: 15 },
          { customerId: 'u2', category: 'books', amount: 12 },
          { customerId: 'u1', category: 'books', amount: 5 },
        ].filter((purchase) => customerId === undefined || purchase.customerId === customerId),
      }),
    }),
  ];
}

function codingTools(): Tool[] {
  const files = new Map([
    ['/src/a.ts', 'export const a = 1;\n// TODO: b\n'],
    ['/src/b.ts', 'import { a } from "./a";\n'],
    ['package.json', '{ "name": "demo", "version": "2.1.0" }'],
  ]);
  return [
    tool({
      name: 'exec_command',
      input: { cmd: z.string(), workdir: z.string().optional(), max_output_tokens: z.number().int().optional() },
      output: z.object({ output: z.string(), exit_code: z.number(), wall_time_seconds: z.number() }),
      execute: ({ cmd }) => {
        const printed = /^printf '?(.*?)'?$/u.exec(cmd)?.[1];
        return printed === undefined
          ? { output: `sh: ${cmd.split(' ')[0]}: not found\n`, exit_code: 127, wall_time_seconds: 0.1 }
          : { output: printed, exit_code: 0, wall_time_seconds: 0.1 };
      },
    }),
    tool({
      name: 'update_plan',
      input: {
        plan: z.array(z.object({ step: z.string(), status: z.enum(['pending', 'in_progress', 'completed']) })),
        explanation: z.string().optional(),
      },
      output: z.object({}),
      execute: () => ({}),
    }),
    tool({
      name: 'apply_patch',
      input: { patch: z.string() },
      output: z.object({}),
      execute: ({ patch }) => {
        const [, path, line] = /\*\*\* Add File: (.+)\n\+(.*)\n/u.exec(patch) ?? [];
        if (path === undefined) throw new Error('not a patch');
        files.set(path, `${line}\n`);
        return {};
      },
    }),
    tool({
      name: 'test_sync_tool',
      input: {
        sleep_after_ms: z.number().optional(),
        barrier: z.object({ id: z.string(), participants: z.number(), timeout_ms: z.number() }).optional(),
      },
      output: z.string(),
      execute: () => 'ok',
    }),
    tool({
      name: 'file_read',
      input: { filePath: z.string(), offset: z.number().optional(), limit: z.number().optional() },
      output: z.union([
        z.object({ success: z.literal(true), content: z.string(), lines_read: z.number() }),
        z.object({ success: z.literal(false), error: z.string() }),
      ]),
      execute: ({ filePath }) => {
        const content = files.get(filePath);
        return content === undefined
          ? { success: false, error: `not found: ${filePath}` }
          : { success: true, content, lines_read: content.split('\n').length - 1 };
      },
    }),
    tool({
      name: 'bash',
      input: {
        script: z.string(),
        timeout_secs: z.number(),
        run_in_background: z.boolean(),
        display_name: z.string(),
      },
      output: z.object({ success: z.boolean(), output: z.string(), exitCode: z.number() }),
      execute: ({ script }) => ({ success: true, output: `ran ${script}`, exitCode: 0 }),
    }),
    tool({
      name: 'state.glob',
      input: { pattern: z.string() },
      output: z.array(z.string()),
      execute: () => [...files.keys()].filter((path) => path.endsWith('.ts')),
    }),
    tool({
      name: 'state.writeJson',
      input: { path: z.string(), value: z.unknown() },
      output: z.object({ ok: z.boolean() }),
      execute: ({ path, value }) => {
        files.set(path, JSON.stringify(value));
        return { ok: true };
      },
    }),
    tool({
      name: 'analyzeFile',
      input: { path: z.string() },
      output: z.object({ path: z.string(), todos: z.number() }),
      execute: ({ path }) => ({ path, todos: (files.get(path) ?? '').split('TODO').length - 1 }),
    }),
    tool({
      name: 'developer.shell',
      input: { command: z.string() },
      output: z.string(),
      execute: ({ command }) =>
        command.startsWith('git branch') ? 'main\n' : command.startsWith('git log') ? 'c3 fix\nb2 add\na1 init\n' : '',
    }),
    tool({
      name: 'developer.text_editor',
      input: { command: z.enum(['view', 'write']), path: z.string(), file_text: z.string().optional() },
      output: z.string(),
      execute: ({ command, path, file_text: text }) => {
        if (command === 'view') return files.get(path) ?? '';
        files.set(path, text ?? '');
        return `wrote ${path}`;
      },
    }),
  ];
}

function officeTools(): Tool[] {
  return [
    tool({
      name: 'gdrive.getDocument',
      input: { documentId: z.string() },
      output: z.object({ title: z.string(), content: z.string() }),
      execute: ({ documentId }) => ({ title: `Notes ${documentId}`, content: 'Decided to ship. Ask Ann.' }),
    }),
    tool({
      name: 'gdrive.getSheet',
      input: { sheetId: z.string() },
      execute: () => [
        { Order: 1, Status: 'pending', Amount: 1500, Email: 'a@x.example' },
        { Order: 2, Status: 'done', Amount: 2500, Email: 'b@x.example' },
        { Order: 3, Status: 'pending', Amount: 900, Email: 'c@x.example' },
      ],
    }),
    tool({
      name: 'salesforce.updateRecord',
      input: { objectType: z.string(), recordId: z.string(), data: z.record(z.string(), z.unknown()) },
      output: z.object({ success: z.boolean(), id: z.string() }),
      execute: ({ recordId }) => ({ success: true, id: recordId }),
    }),
    tool({
      name: 'mail.send',
      input: { to: z.string(), subject: z.string(), body: z.string() },
      output: z.string(),
      execute: ({ to }) => `Email sent to ${to}`,
    }),
    tool({
      name: 'tickets.get',
      input: { ticketId: z.number().int() },
      output: z.object({
        ticketId: z.number(),
        customerEmail: z.string(),
        subject: z.string(),
        tags: z.array(z.string()),
      }),
      execute: ({ ticketId }) => ({
        ticketId,
        customerEmail: 'pat@client.example',
        subject: 'License problem',
        tags: ['license', 'activation'],
      }),
    }),
  ];
}

import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { memoryTrustStore } from '#mcp/index.js';
import { describe, expect, it } from 'vitest';
import { requestHeaders } from '#mcp/openapi/api-fetch.js';
import { imitatedApi, json, jsonBody, ok, petDocument, reference, temporaryFile } from './support/imitated-api.js';
import { attachedHarness, failureOf, openServers, valueOf } from './support/open.js';

const LIST = {
  get: {
    operationId: 'listPets',
    summary: 'Lists pets',
    parameters: [{ name: 'page', in: 'query', schema: { type: 'integer', default: 1 } }],
    responses: ok(reference('Page')),
  },
};

const PETS = {
  '/pets': {
    ...LIST,
    post: {
      operationId: 'createPet',
      requestBody: { required: true, ...jsonBody(reference('Pet')) },
      responses: { 201: { description: 'made', ...jsonBody(reference('Pet')) } },
    },
  },
};

/** An API with three pages of pets, which keeps new ones. */
async function petApi() {
  const pets = Array.from({ length: 5 }, (_, index) => ({ id: index + 1, name: `pet ${index + 1}` }));
  const api = await imitatedApi((request, response) => {
    if (request.url === '/openapi.json') return json(response, petDocument(PETS, { servers: [{ url: '/v1' }] }));
    if (request.method === 'POST') {
      const pet = { ...(JSON.parse(request.body) as { name: string }), id: pets.length + 1 };
      pets.push(pet);
      return json(response, pet, 201);
    }
    const page = Number(new URL(request.url, 'http://localhost').searchParams.get('page'));
    const items = pets.slice((page - 1) * 2, page * 2);
    return json(response, { items, next: page * 2 < pets.length ? page + 1 : null });
  });
  return { ...api, openapi: `${api.origin}/openapi.json` };
}

/** The API whose document is a file with the content, at the origin. */
async function opened(paths: object, baseUrl: string, more: object = {}) {
  const openapi = await temporaryFile('api.json', JSON.stringify(petDocument(paths)));
  return openServers({ pets: { openapi, baseUrl, ...more } });
}

describe('an OpenAPI document', () => {
  it('with many operations arrives in parts, complete and in order', async () => {
    const names = Array.from({ length: 60 }, (_, index) => `get${index}`);
    const paths = Object.fromEntries(names.map((name) => [`/${name}`, { get: { operationId: name, responses: {} } }]));
    const mcp = await opened(paths, 'http://127.0.0.1:1');
    expect(mcp.status()[0]!.tools).toEqual(names.map((name) => `mcp.pets.${name}`));
  });

  it('is abandoned when the connection is closed', async () => {
    const operations = Array.from({ length: 2_000 }, (_, index) => [`/${index}`, LIST]);
    const openapi = await temporaryFile('api.json', JSON.stringify(petDocument(Object.fromEntries(operations))));
    const mcp = await openServers({ pets: { openapi, baseUrl: 'http://127.0.0.1:1' } }, { waitMs: 0 });
    await mcp.close();
    expect(mcp.status()).toMatchObject([{ state: 'closed', tools: [] }]);
  });

  it('gives a script typed tools, and the script pages through the API', async () => {
    const { openapi, received } = await petApi();
    const mcp = await openServers({ pets: { openapi, headers: { Authorization: 'Bearer secret' } } });
    expect(mcp.status()).toMatchObject([
      {
        state: 'connected',
        version: { name: 'Pets', version: '1.2.0' },
        protocolVersion: 'OpenAPI 3.0.3',
        skipped: [],
      },
    ]);
    const harness = attachedHarness(mcp);
    expect(harness.declarations()).toContain('name: string; tag?: string | null');
    const script = `
      const names: string[] = [];
      for (let page: number | null = 1; page !== null; ) {
        const { items, next } = await tools.mcp.pets.listPets({ page });
        names.push(...items.map(({ name }) => name));
        page = next;
      }
      return names;`;
    expect(valueOf(await harness.runScript(script))).toEqual(['pet 1', 'pet 2', 'pet 3', 'pet 4', 'pet 5']);
    expect(received.map(({ url }) => url)).toEqual([
      '/openapi.json',
      '/v1/pets?page=1',
      '/v1/pets?page=2',
      '/v1/pets?page=3',
    ]);
    for (const { headers } of received) expect(headers.authorization).toBe('Bearer secret');
    const wrong = failureOf(await harness.runScript(`return tools.mcp.pets.listPets({ page: 'one' })`));
    expect(wrong.code).toBe('ScriptTypeError');
  });

  it('lets a read run, and asks before every other call', async () => {
    const { openapi, received } = await petApi();
    const asked: string[] = [];
    const harness = attachedHarness(await openServers({ pets: { openapi } }), {
      approvals: ({ tool, input }) => {
        asked.push(`${tool} ${JSON.stringify(input)}`);
        return { decision: 'approve' };
      },
    });
    const script = `await tools.mcp.pets.listPets(); return tools.mcp.pets.createPet({ name: 'Rex' })`;
    expect(valueOf(await harness.runScript(script))).toEqual({ id: 6, name: 'Rex' });
    expect(asked).toEqual(['mcp.pets.createPet {"name":"Rex"}']);
    expect(received.at(-1)).toMatchObject({ method: 'POST', url: '/v1/pets', body: '{"name":"Rex"}' });
  });

  it('may be a file in YAML, and of Swagger 2.0', async () => {
    const { origin, received } = await imitatedApi((_request, response) => json(response, { id: 1, name: 'Rex' }));
    const openapi = await temporaryFile('api.yaml', SWAGGER);
    const mcp = await openServers({ pets: { openapi, baseUrl: `${origin}/v2?key=abc` } });
    expect(mcp.status()).toMatchObject([
      { state: 'connected', protocolVersion: 'Swagger 2.0', skipped: [], notes: [] },
    ]);
    const harness = attachedHarness(mcp);
    const script = `return [
      await tools.mcp.pets.get_pets_id({ id: 7, tags: ['a', 'b c'] }),
      await tools.mcp.pets.rename({ id: 7, name: 'Ada Lovelace' }),
    ]`;
    expect(valueOf(await harness.runScript(script))).toEqual([
      { id: 1, name: 'Rex' },
      { id: 1, name: 'Rex' },
    ]);
    expect(received).toMatchObject([
      { method: 'GET', url: '/v2/pets/7?key=abc&tags=a,b%20c' },
      { method: 'PUT', url: '/v2/pets/7?key=abc', body: 'name=Ada+Lovelace' },
    ]);
    expect(received[1]!.headers['content-type']).toContain('application/x-www-form-urlencoded');
  });

  it('gets a member of its place where a name occurs twice', async () => {
    const { origin, received } = await imitatedApi((_request, response) => json(response, {}));
    const parameter = (place: string) => ({ name: 'id', in: place, schema: { type: 'string' } });
    const put = {
      operationId: 'put',
      parameters: [parameter('path'), parameter('query'), parameter('header')],
      requestBody: { required: true, ...jsonBody({ type: 'object', properties: { id: { type: 'string' } } }) },
      responses: {},
    };
    const harness = attachedHarness(await opened({ '/things/{id}': { put } }, origin));
    const script = `return tools.mcp.pets.put({ id__path: 'a/b', id__query: 'q', id__header: 'h', id: 'body' })`;
    valueOf(await harness.runScript(script));
    expect(received).toMatchObject([{ url: '/things/a%2Fb?id=q', headers: { id: 'h' }, body: '{"id":"body"}' }]);
  });

  it('writes lists, objects, forms and bytes as its parameters and bodies say', async () => {
    const { origin, received } = await imitatedApi((_request, response) => json(response, {}));
    const inQuery = (name: string, more: object) => ({ name, in: 'query', ...more });
    const get = {
      operationId: 'get',
      parameters: [
        inQuery('ids', { schema: { type: 'array', items: { type: 'integer' } } }),
        inQuery('words', {
          style: 'pipeDelimited',
          explode: false,
          schema: { type: 'array', items: { type: 'string' } },
        }),
        inQuery('filter', { style: 'deepObject', schema: { type: 'object' } }),
        inQuery('where', { content: { 'application/json': { schema: { type: 'object' } } } }),
      ],
      responses: {},
    };
    const upload = {
      operationId: 'upload',
      requestBody: {
        required: true,
        content: {
          'multipart/form-data': {
            schema: {
              type: 'object',
              properties: { name: { type: 'string' }, file: { type: 'string', format: 'binary' } },
            },
          },
        },
      },
      responses: {},
    };
    const list = {
      operationId: 'list',
      requestBody: jsonBody({ type: 'array', items: { type: 'integer' } }),
      responses: {},
    };
    const harness = attachedHarness(await opened({ '/x': { get, post: upload, put: list } }, origin));
    const script = `
      await tools.mcp.pets.get({ ids: [1, 2], words: ['a', 'b&c'], filter: { age: 3 }, where: { a: 1 } });
      await tools.mcp.pets.upload({ name: 'Rex', file: '${btoa('bytes')}' });
      await tools.mcp.pets.list({ body: [1, 2] });`;
    valueOf(await harness.runScript(script));
    const [first, second, third] = received;
    expect(decodeURIComponent(first!.url)).toBe('/x?ids=1&ids=2&words=a|b&c&filter[age]=3&where={"a":1}');
    expect(second!.headers['content-type']).toContain('multipart/form-data; boundary=');
    expect(second!.body).toMatch(/name="name"\s+Rex\s[^]*name="file"; filename="file"[^]*\sbytes\s/u);
    expect(third!.body).toBe('[1,2]');
  });

  it('takes integers beyond 2^53 back as the text that a result has', async () => {
    const { origin, received } = await imitatedApi((_request, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"id":9007199254740993}'),
    );
    const id = { name: 'id', in: 'path', schema: { type: 'integer', format: 'int64' } };
    const get = { operationId: 'get', parameters: [id], responses: ok({ type: 'object' }) };
    const harness = attachedHarness(await opened({ '/x/{id}': { get } }, origin));
    valueOf(
      await harness.runScript('const { id } = await tools.mcp.pets.get({ id: 1 }); return tools.mcp.pets.get({ id })'),
    );
    expect(received.map(({ url }) => url)).toEqual(['/x/1', '/x/9007199254740993']);
  });

  it('has a result that is data, text or an image, whatever its document declares', async () => {
    const png = Buffer.from('iVBORw0KGgo=', 'base64');
    const { origin } = await imitatedApi(({ url }, response) => {
      if (url === '/list') return json(response, [{ id: 1 }]);
      if (url === '/image') return response.writeHead(200, { 'content-type': 'image/png' }).end(png);
      if (url === '/none') return response.writeHead(204).end();
      if (url === '/big')
        return response.writeHead(200, { 'content-type': 'application/json' }).end('{"id":9007199254740993}');
      return response.writeHead(200, { 'content-type': 'text/plain' }).end('[not JSON]');
    });
    const get = (operationId: string) => ({ get: { operationId, responses: ok(reference('Pet')) } });
    const names = ['list', 'image', 'none', 'big', 'words'];
    const harness = attachedHarness(
      await opened(Object.fromEntries(names.map((name) => [`/${name}`, get(name)])), origin),
    );
    const outcome = await harness.runScript(
      `return Promise.all([${names.map((name) => `tools.mcp.pets.${name}()`).join()}])`,
    );
    expect(valueOf(outcome)).toMatchObject([
      [{ id: 1 }],
      { content: [{ type: 'image', mediaType: 'image/png' }] },
      null,
      { id: '9007199254740993' },
      '[not JSON]',
    ]);
    const warnings = outcome.diagnostics.filter(({ message }) => message.includes('not as declared'));
    expect(warnings).toHaveLength(5);
  });
});

describe('an error of an API', () => {
  it('reaches the script with its status and its beginning', async () => {
    const { origin } = await imitatedApi((_request, response) => json(response, { message: 'name is taken' }, 422));
    const harness = attachedHarness(await opened(PETS, origin));
    const script = `try { await tools.mcp.pets.createPet({ name: 'Rex' }) } catch (error) { return { message: error.message, data: error.data } }`;
    expect(valueOf(await harness.runScript(script))).toEqual({
      message: 'The API "pets", POST /pets, answered with HTTP 422 (Unprocessable Entity): {"message":"name is taken"}',
      data: { reason: 'http_status', status: 422, body: { message: 'name is taken' } },
    });
  });

  it('says that the effect of a call without an answer is unknown', async () => {
    const { origin } = await imitatedApi((_request, response) => response.destroy());
    const harness = attachedHarness(await opened(PETS, origin));
    const failed = async (script: string) => failureOf(await harness.runScript(script)).message;
    expect(await failed(`return tools.mcp.pets.createPet({ name: 'Rex' })`)).toContain(
      'Whether the call took effect is unknown',
    );
    expect(await failed('return tools.mcp.pets.listPets()')).not.toContain('took effect');
  });

  it('is raised for a call that takes longer than its limit', async () => {
    const { origin } = await imitatedApi(() => {});
    const harness = attachedHarness(await opened(PETS, origin, { callTimeoutMs: 50 }));
    const { message } = failureOf(await harness.runScript('return tools.mcp.pets.listPets()'));
    expect(message).toContain('The API "pets", GET /pets, did not answer within 50 ms.');
  });
});

describe('the requests of a document', () => {
  it('go to no server that the user has not named', async () => {
    const { origin, received } = await imitatedApi((_request, response) => json(response, {}));
    const elsewhere = petDocument(PETS, { servers: [{ url: `${origin}/v1` }] });
    const openapi = await temporaryFile('api.json', JSON.stringify(elsewhere));
    const documents = await imitatedApi((_request, response) => json(response, elsewhere));
    const mcp = await openServers({ file: { openapi }, address: { openapi: `${documents.origin}/api.json` } });
    for (const { state, problem } of mcp.status()) {
      expect(state).toBe('failed');
      expect(problem).toContain(`add "baseUrl": "${origin}/v1"`);
    }
    expect(received).toEqual([]);
  });

  it('carry credentials to the origin of the API alone: not to that of the document, of an operation or of a redirect', async () => {
    const other = await imitatedApi((_request, response) => json(response, petDocument(PETS)));
    const api = await imitatedApi((_request, response) =>
      response.writeHead(302, { location: `${other.origin}/moved` }).end(),
    );
    const mcp = await openServers({
      pets: {
        openapi: `${other.origin}/openapi.json`,
        baseUrl: api.origin,
        headers: { Authorization: 'Bearer secret' },
      },
    });
    const { message } = failureOf(await attachedHarness(mcp).runScript('return tools.mcp.pets.listPets()'));
    expect(message).toContain(`it redirects to ${other.origin}, which is not https`);
    expect(api.received.map(({ headers }) => headers.authorization)).toEqual(['Bearer secret']);
    expect(other.received.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ['/openapi.json', undefined],
    ]);
    const post = await openServers({
      pets: {
        openapi: await temporaryFile(
          'a.json',
          JSON.stringify(petDocument({ '/x': { servers: [{ url: other.origin }], ...LIST } })),
        ),
        baseUrl: api.origin,
      },
    });
    expect(post.status()).toMatchObject([
      { tools: [], skipped: [{ name: 'listPets', reason: expect.stringContaining('its server is') }] },
    ]);
  });

  it('have no header of the configuration or of the call at another origin', () => {
    const options = { origin: 'https://api.example', headers: { Authorization: 'Bearer secret' } };
    const headers = { 'x-key': 'secret', cookie: 'session=secret' };
    const sent = (url: string) => JSON.stringify(requestHeaders({ url: new URL(url), headers }, options));
    expect(sent('https://api.example/v1').match(/secret/gu)).toHaveLength(3);
    for (const url of ['https://other.example/v1', 'http://api.example/v1', 'https://api.example:444/v1'])
      expect(sent(url)).not.toContain('secret');
  });

  it('leave the base path by no argument, and replace no configured header', async () => {
    const { origin, received } = await imitatedApi((_request, response) => json(response, {}));
    const parameters = ['X-Team', 'Authorization', 'Host'].map((name) => ({
      name,
      in: 'header',
      schema: { type: 'string' },
    }));
    const get = { operationId: 'get', parameters, responses: {} };
    const harness = attachedHarness(
      await opened({ '/{a}/{b}': { get } }, `${origin}/v1`, { headers: { 'x-team': 'ours' } }),
    );
    for (const part of ['..', '.', ''])
      expect(
        failureOf(await harness.runScript(`return tools.mcp.pets.get({ a: '${part}', b: 'x' })`)).message,
      ).toContain('Pass another value');
    valueOf(await harness.runScript(`return tools.mcp.pets.get({ a: '../%2e%2e', b: 'x?y#z', 'X-Team': 'theirs' })`));
    expect(received.map(({ url, headers }) => [url, headers['x-team']])).toEqual([
      ['/v1/..%2F%252e%252e/x%3Fy%23z', 'ours'],
    ]);
    expect(failureOf(await harness.runScript(`return tools.mcp.pets.get({ a: 'a', b: 'b', Host: 'x' })`)).code).toBe(
      'ScriptTypeError',
    );
  });
});

describe('an argument that no header can contain', () => {
  it.each(['v\r\nX-Evil: 1', '✓', '\0'])('is named, and nothing is sent: %j', async (value) => {
    const { origin, received } = await imitatedApi((_request, response) => json(response, {}));
    const parameters = ['X-Note', 'X Note'].map((name) => ({ name, in: 'header', schema: { type: 'string' } }));
    const get = { operationId: 'get', parameters, responses: {} };
    const mcp = await opened({ '/notes': { get } }, origin);
    const harness = attachedHarness(mcp);
    const call = (note: string) => `return tools.mcp.pets.get({ 'X-Note': ${JSON.stringify(note)} })`;
    const { message } = failureOf(await harness.runScript(call(value)));
    expect(message).toContain('"X-Note" is a header, so it cannot contain');
    expect(received).toEqual([]);
    valueOf(await harness.runScript(call('é')));
    expect(received[0]!.headers['x-note']).toBe('é');
    expect(harness.catalog().describe('mcp.pets.get')).not.toContain('X Note');
  });
});

describe('a flaw in a document', () => {
  it('removes its own operation alone, and the status of its server names it', async () => {
    const { origin } = await imitatedApi((_request, response) => json(response, { items: [], next: null }));
    const outside = { $ref: 'https://other.example/x.json#/Pet' };
    const mcp = await opened(
      {
        ...PETS,
        '/none': null,
        '/outside': outside,
        '/null': { get: null },
        '/odd/{id}': {
          get: { operationId: 'odd', parameters: [null, { name: 'q' }, 'text'], responses: null },
          post: {
            operationId: 'listPets',
            requestBody: jsonBody({ type: 'object', properties: { pet: outside, gone: reference('Gone') } }),
            responses: { 200: outside },
          },
        },
      },
      origin,
    );
    const [status] = mcp.status();
    expect(status).toMatchObject({
      state: 'connected',
      tools: ['mcp.pets.listPets', 'mcp.pets.createPet', 'mcp.pets.odd', 'mcp.pets.post_odd_id'],
      skipped: [
        { name: '/none', reason: 'its description is not in the document' },
        { name: '/outside', reason: 'its description is not in the document' },
        { name: 'GET /null', reason: 'its description is not an object' },
      ],
    });
    expect(status!.notes.map(({ name }) => name)).toEqual(['odd', 'post_odd_id']);
    const script = `await tools.mcp.pets.odd({ id: 'x' }); return tools.mcp.pets.post_odd_id({ id: 'x', pet: 1, gone: [] })`;
    valueOf(await attachedHarness(mcp).runScript(script));
  });

  it.each([
    ['is no JSON', '{ "openapi": ', 'not valid JSON'],
    ['is another document', 'hello', 'not a document of OpenAPI 3 or Swagger 2.0'],
    ['has a newer version', '{"openapi":"4.0.0"}', 'not a document of OpenAPI 3 or Swagger 2.0'],
    ['is nested too deeply', `{"openapi":"3.0.0","x":${'['.repeat(500)}${']'.repeat(500)}}`, 'levels deep'],
    [
      'repeats its aliases',
      `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
        .split('')
        .map((name, index) => `${name}: &${name} [${Array.from({ length: 9 }, () => `*${'abcdefgh'[index]}`).join()}]`)
        .join('\n')}`,
      'nor valid YAML',
    ],
  ])('fails the document if it %s', async (_what, text, reason) => {
    const openapi = await temporaryFile('api', text);
    const mcp = await openServers({ pets: { openapi, baseUrl: 'http://127.0.0.1:9' } });
    expect(mcp.status()).toMatchObject([{ state: 'failed', problem: expect.stringContaining(reason) }]);
    expect(mcp.status()[0]!.problem).toContain(openapi);
  });
});

describe('an API of a thousand operations', () => {
  it('has a thousand typed tools, whose types are cut where they are too deep', async () => {
    const { origin, received } = await imitatedApi((_request, response) => json(response, {}));
    const level = (index: number) => ({
      type: 'object',
      properties: Object.fromEntries([
        ...Array.from({ length: 20 }, (_, at) => [`text_${at}`, { type: 'string', description: 'x'.repeat(300) }]),
        ...(index < 50 ? [['inner', { $ref: `#/components/schemas/Level${index + 1}` }]] : []),
      ]),
    });
    const levels = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`Level${index}`, level(index)]));
    const path = (index: number) => ({
      get: { operationId: `get_${index}`, responses: ok(reference(`Level${index % 50}`)) },
    });
    const paths = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`/things/${index}`, path(index)]));
    const document = petDocument(paths, { components: { schemas: levels } });
    const openapi = await temporaryFile('api.json', JSON.stringify(document));
    const mcp = await openServers({ api: { openapi, baseUrl: origin } });
    expect(mcp.status()).toMatchObject([{ state: 'connected', skipped: [], incomplete: undefined }]);
    const harness = attachedHarness(mcp);
    const described = mcp.status()[0]!.tools.map((tool) => harness.catalog().describe(tool) ?? '');
    expect(described).toHaveLength(1_000);
    for (const text of described) {
      expect(text).toContain('text_19?: string');
      expect(text.length).toBeLessThan(12_000);
    }
    valueOf(await harness.runScript('return tools.mcp.api.get_999()'));
    expect(received).toMatchObject([{ url: '/things/999' }]);
  });
});

describe('a document that cannot be fetched', () => {
  it('is fetched again', async () => {
    let failures = 2;
    const { origin } = await imitatedApi((_request, response) =>
      failures-- > 0 ? json(response, {}, 503) : json(response, petDocument(PETS)),
    );
    const mcp = await openServers({ pets: { openapi: `${origin}/api.json` } }, { reconnect: { firstDelayMs: 1 } });
    await expect.poll(() => mcp.status()[0]!.state).toBe('connected');
    expect(mcp.status()[0]!.tools).toHaveLength(2);
  });

  it('is not fetched again if its server refuses it, until the user has acted', async () => {
    const { origin, received } = await imitatedApi((_request, response) => json(response, {}, 404));
    const mcp = await openServers({ pets: { openapi: `${origin}/api.json` } }, { reconnect: { firstDelayMs: 1 } });
    expect(mcp.status()).toMatchObject([{ state: 'failed', problem: expect.stringContaining('HTTP 404') }]);
    await mcp.reconnect('pets');
    expect(received).toHaveLength(2);
  });
});

describe('what is too large', () => {
  it('fails the document if it is a file of too many bytes', async () => {
    const openapi = await temporaryFile('api.json', '{}');
    truncateSync(openapi, 33 * 1024 * 1024);
    const mcp = await openServers({ pets: { openapi, baseUrl: 'http://127.0.0.1:9' } });
    expect(mcp.status()).toMatchObject([{ state: 'failed', problem: expect.stringContaining('bytes, the maximum') }]);
  });

  it('is refused as an answer before it is parsed if it has too many values', async () => {
    const { origin } = await imitatedApi((_request, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(`[${'0,'.repeat(1_000_001)}0]`),
    );
    const harness = attachedHarness(await opened(PETS, origin));
    const { message } = failureOf(await harness.runScript('return tools.mcp.pets.listPets()'));
    expect(message).toContain('values, the maximum. Ask for less');
  });
});

describe('the tools of a changed document', () => {
  it('are held back until the user trusts them', async () => {
    const { origin } = await imitatedApi((_request, response) => json(response, {}));
    const openapi = await temporaryFile('api.json', JSON.stringify(petDocument(PETS)));
    const trustStore = memoryTrustStore();
    const entry = { pets: { openapi, baseUrl: origin } };
    await openServers(entry, { trustStore });
    writeFileSync(openapi, readFileSync(openapi, 'utf8').replaceAll('/pets', '/admin'));
    const mcp = await openServers(entry, { trustStore });
    expect(mcp.status()).toMatchObject([
      { tools: [], untrusted: [{ name: 'listPets', change: 'changed' }, { name: 'createPet' }] },
    ]);
  });
});

const SWAGGER = `
swagger: 2.0
info: { title: Pets, version: 1.0 }
host: elsewhere.example
paths:
  /pets/{id}:
    parameters:
      - { name: id, in: path, required: true, type: integer }
    get:
      parameters:
        - { name: tags, in: query, type: array, items: { type: string }, collectionFormat: csv }
      responses: { 200: { description: OK, schema: { $ref: '#/definitions/Pet' } } }
    put:
      operationId: rename
      consumes: [application/x-www-form-urlencoded]
      parameters:
        - { name: name, in: formData, required: true, type: string }
      responses: { 200: { description: OK, schema: { $ref: '#/definitions/Pet' } } }
definitions:
  Pet: { type: object, properties: { id: { type: integer }, name: { type: string } } }
`;
